// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.assignment;

import io.gpupool.wire.DriverEnvironment;
import io.gpupool.wire.TextMessage;
import io.gpupool.wire.WireException;
import io.gpupool.worker.os.ServerFile;
import io.gpupool.worker.peer.PeerConnections;
import io.gpupool.worker.session.quota.LeasedGpu;
import io.gpupool.worker.session.quota.Ledger;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * The session that the pool-server has assigned to this worker.
 *
 * @param name the session's
 * @param gpus the GPUs of its lease
 * @param uuids theirs, as the server knows them; empty if it does not know them
 * @param ledger its place in the ledger of its lease
 * @param schedule its places in the schedule of each GPU
 * @param addressSlot which part of the addresses the memory of its GPUs gets; 0 where it is the
 *     only server of its lease, or the first
 * @param environment variables that the driver finds in the environment of the process when it
 *     starts; only for workers that start it late
 * @param resumeWindowMillis how long the session outlives its connection; 0: it does not
 */
public record Assignment(
    SessionName name,
    List<LeasedGpu> gpus,
    List<String> uuids,
    AssignedLedger ledger,
    AssignedSchedule schedule,
    int addressSlot,
    Map<String, String> environment,
    long resumeWindowMillis) {
  static final int MAX_GPUS = 256;
  private static final long MAX_RESUME_WINDOW_MILLIS = 3_600_000;
  private static final String VISIBLE = "CUDA_VISIBLE_DEVICES";

  /** Returns how many descriptors follow a message: of the ledger and perhaps of the schedule. */
  public static int descriptors(TextMessage message) {
    return AssignedSchedule.isIn(message) ? 2 : 1;
  }

  /** Reads a message, with the descriptors that followed it. */
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
        SessionName.of(message),
        List.copyOf(gpus),
        uuids(message, gpus.size()),
        new AssignedLedger(files.getFirst(), (int) message.requireNumber("slot", Ledger.SLOTS - 1)),
        AssignedSchedule.of(message, files.subList(1, files.size()), gpus.size()),
        message.get("addressSlot").isEmpty()
            ? 0
            : (int) message.requireNumber("addressSlot", PeerConnections.MAX_LINKS - 1),
        environment(message),
        message.get("resumeWindow").isEmpty()
            ? 0
            : message.requireNumber("resumeWindow", MAX_RESUME_WINDOW_MILLIS));
  }

  private static List<String> uuids(TextMessage message, int gpus) throws WireException {
    List<String> uuids =
        message.get("uuids").map(text -> List.of(text.split(","))).orElse(List.of());
    if (!uuids.isEmpty() && uuids.size() != gpus) {
      throw new WireException("not UUIDs of " + gpus + " GPUs: " + uuids);
    }
    return uuids;
  }

  /**
   * Returns the program's own variables, the visible GPUs in the order of the lease, and with MPS
   * the part of them to be used.
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

  /** Returns the GPUs as the driver counts them: from the first that it sees. */
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

  /** Returns the files that the server shares with its workers, in the order of their hand-over. */
  List<ServerFile> files() {
    List<ServerFile> files = new ArrayList<>(List.of(ledger.file()));
    files.addAll(schedule.files());
    return files;
  }

  /** The device memory of the lease, on all its GPUs. */
  long quotaBytes() {
    return gpus.stream().mapToLong(LeasedGpu::quotaBytes).sum();
  }

  Ledger openLedger() throws IOException {
    return ledger.open(gpus.stream().mapToLong(LeasedGpu::quotaBytes).toArray());
  }
}
