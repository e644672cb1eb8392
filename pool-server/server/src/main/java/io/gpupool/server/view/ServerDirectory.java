// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.view;

import io.gpupool.control.v1.Grant;
import io.gpupool.server.capacity.Members;
import io.gpupool.server.gpu.Gpu;
import io.gpupool.server.placement.Placement.Part;
import io.gpupool.server.records.ServerEntry;
import io.gpupool.wire.BuildVersion;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.function.Supplier;

/**
 * A directory of the servers of the pool, this one included, with their addresses. Runs on the
 * control thread.
 */
public final class ServerDirectory {
  private final String name;
  private final Supplier<String> address;
  private final String backend;
  private final ServerMode mode;
  private final Members members;

  /**
   * Makes the directory of a server.
   *
   * @param address of its control plane, once its port is open
   * @param backend nvidia or soft
   */
  public ServerDirectory(
      String name, Supplier<String> address, String backend, ServerMode mode, Members members) {
    this.name = name;
    this.address = address;
    this.backend = backend;
    this.mode = mode;
    this.members = members;
  }

  /** This server's name. */
  public String name() {
    return name;
  }

  public String version() {
    return BuildVersion.TEXT;
  }

  ServerMode mode() {
    return mode;
  }

  /** The other servers that are alive, by name. */
  Map<String, ServerEntry> others() {
    return members.others();
  }

  /** The address of a server's control plane; empty while it is gone. */
  public Optional<String> addressOf(String server) {
    return server.equals(name) ? Optional.of(address.get()) : members.addressOf(server);
  }

  String backendOf(String server) {
    ServerEntry other = members.others().get(server);
    return other == null ? backend : other.backend();
  }

  /** Returns whether calls of NCCL are carried out at a GPU's server. */
  private boolean carriesOutCollectives(Gpu gpu) {
    return backendOf(gpu.server()).equals("soft") || gpu.facts().ncclVersion() > 0;
  }

  /** A part of a lease as messages have it. */
  public Grant grant(Part part) {
    String server = part.gpu().server();
    return Grant.newBuilder()
        .setServer(server)
        .setGpu(part.gpu().ordinal())
        .setGpuUuid(part.gpu().uuid())
        .setGpuName(part.gpu().name())
        .setMemoryBytes(part.share().memoryBytes())
        .setComputePercent(part.share().computePercent())
        .setBackend(backendOf(server))
        .setAddress(addressOf(server).orElse(""))
        .setPartition(Objects.requireNonNullElse(part.partition(), ""))
        .setHard(part.hard())
        .setCollectives(carriesOutCollectives(part.gpu()))
        .build();
  }
}
