// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.assignment;

import io.gpupool.wire.DriverEnvironment;
import io.gpupool.wire.ScheduleSlot;
import io.gpupool.wire.TextMessage;
import io.gpupool.wire.WireException;
import io.gpupool.worker.os.ServerFile;
import io.gpupool.worker.peer.PeerConnections;
import io.gpupool.worker.session.quota.LeasedGpu;
import io.gpupool.worker.session.quota.Ledger;
import io.gpupool.worker.slicer.GpuTimeSlice;
import io.gpupool.worker.slicer.NestedTimeSlice;
import io.gpupool.worker.slicer.SessionTimeSlice;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/**
 * The session that the pool-server has assigned to this worker.
 *
 * @param session the session's id
 * @param name lease, session and program, for the log
 * @param gpus the GPUs of its lease
 * @param uuids theirs, as the server knows them; empty if it does not say
 * @param ledgerFile of its lease
 * @param slot the session's place in the ledger
 * @param scheduleFile in which time slices of the GPUs are taken; empty if they are not
 * @param leaseSlots where the session takes its lease's time slices of each of its GPUs, in that
 *     file; empty where leases take none
 * @param programSlots likewise, those of the lease's programs
 * @param addressSlot which part of the addresses the memory of its GPUs is to have; 0 where it is
 *     the only server of its lease, or the first
 * @param environment what the driver is to find in the environment of the process when it starts;
 *     heeded by workers that start it late
 */
public record Assignment(
    String session,
    String name,
    List<LeasedGpu> gpus,
    List<String> uuids,
    ServerFile ledgerFile,
    int slot,
    Optional<ServerFile> scheduleFile,
    List<ScheduleSlot> leaseSlots,
    List<ScheduleSlot> programSlots,
    int addressSlot,
    Map<String, String> environment) {
  private static final int MAX_GPUS = 256;
  private static final String LEASE_SLOTS = "leaseSlots";
  private static final String PROGRAM_SLOTS = "programSlots";
  private static final String VISIBLE = "CUDA_VISIBLE_DEVICES";

  /**
   * How many descriptors follow the message: of the ledger, and of the time slices if there are
   * any.
   */
  public static int descriptors(TextMessage message) {
    boolean slices = message.get(LEASE_SLOTS).isPresent() || message.get(PROGRAM_SLOTS).isPresent();
    return slices ? 2 : 1;
  }

  /** What a message says, with the descriptors that followed it. */
  public static Assignment of(TextMessage message, List<ServerFile> files) throws WireException {
    List<LeasedGpu> gpus = new ArrayList<>();
    for (String gpu : message.require("gpus").split(",", MAX_GPUS + 1)) {
      String[] parts = gpu.split(":");
      try {
        gpus.add(
            new LeasedGpu(
                Integer.parseInt(parts[0]), Long.parseLong(parts[1]), Integer.parseInt(parts[2])));
      } catch (NumberFormatException | ArrayIndexOutOfBoundsException e) {
        throw new WireException("not a GPU (ordinal:memoryBytes:computePercent): " + gpu);
      }
    }
    return new Assignment(
        message.require("session"),
        name(message),
        List.copyOf(gpus),
        uuids(message, gpus.size()),
        files.getFirst(),
        (int) message.requireNumber("slot", Ledger.SLOTS - 1),
        files.size() > 1 ? Optional.of(files.get(1)) : Optional.empty(),
        slices(message, LEASE_SLOTS, gpus.size()),
        slices(message, PROGRAM_SLOTS, gpus.size()),
        message.get("addressSlot").isEmpty()
            ? 0
            : (int) message.requireNumber("addressSlot", PeerConnections.MAX_LINKS - 1),
        environment(message));
  }

  private static List<String> uuids(TextMessage message, int gpus) throws WireException {
    List<String> uuids =
        message.get("uuids").map(text -> List.of(text.split(","))).orElse(List.of());
    if (!uuids.isEmpty() && uuids.size() != gpus) {
      throw new WireException("not UUIDs of " + gpus + " GPUs: " + uuids);
    }
    return uuids;
  }

  private static String name(TextMessage message) throws WireException {
    return "lease "
        + message.get("lease").orElse("?")
        + " session "
        + message.require("session")
        + message.get("program").map(program -> " of " + program).orElse("");
  }

  /**
   * What the program's own says, the GPUs to be seen in the order of the lease, and with MPS the
   * part of them to be used.
   */
  private static Map<String, String> environment(TextMessage message) throws WireException {
    Map<String, String> environment =
        new TreeMap<>(DriverEnvironment.parse(message.get("environment").orElse("")).variables());
    message.get("visible").ifPresent(uuids -> environment.put(VISIBLE, uuids));
    message
        .get("threads")
        .ifPresent(percent -> environment.put("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", percent));
    return environment;
  }

  private static List<ScheduleSlot> slices(TextMessage message, String key, int gpus)
      throws WireException {
    if (message.get(key).isEmpty()) {
      return List.of();
    }
    List<ScheduleSlot> places = new ArrayList<>();
    for (String place : message.require(key).split(",", MAX_GPUS + 1)) {
      places.add(ScheduleSlot.parse(place));
    }
    if (places.size() != gpus) {
      throw new WireException("not schedule slots of " + gpus + " GPUs: " + places);
    }
    return List.copyOf(places);
  }

  /** The GPUs as the driver counts them, which starts with the first that it is to see. */
  List<LeasedGpu> driverGpus() {
    if (!environment.containsKey(VISIBLE)) {
      return gpus;
    }
    List<LeasedGpu> counted = new ArrayList<>();
    for (LeasedGpu gpu : gpus) {
      counted.add(new LeasedGpu(counted.size(), gpu.quotaBytes(), gpu.computePercent()));
    }
    return counted;
  }

  /** The session's part in the time slices of each GPU; empty if they take none. */
  List<SessionTimeSlice> joinTimeSlices() throws IOException {
    List<SessionTimeSlice> joined = new ArrayList<>();
    for (int gpu = 0; gpu < Math.max(leaseSlots.size(), programSlots.size()); gpu++) {
      ServerFile file = scheduleFile.orElseThrow();
      if (leaseSlots.isEmpty()) {
        joined.add(GpuTimeSlice.join(file, programSlots.get(gpu)));
      } else {
        GpuTimeSlice lease = GpuTimeSlice.join(file, leaseSlots.get(gpu));
        joined.add(
            programSlots.isEmpty()
                ? lease
                : new NestedTimeSlice(lease, GpuTimeSlice.join(file, programSlots.get(gpu))));
      }
    }
    return joined;
  }

  Ledger openLedger() throws IOException {
    return Ledger.open(ledgerFile, slot, gpus.stream().mapToLong(LeasedGpu::quotaBytes).toArray());
  }
}
