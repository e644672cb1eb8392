// SPDX-License-Identifier: Apache-2.0
package io.gpupool.agent.nvml;

import io.gpupool.control.v1.DescribeLeaseReply;
import io.gpupool.control.v1.GpuInfo;
import io.gpupool.control.v1.Grant;
import io.gpupool.control.v1.GrantUse;
import io.gpupool.control.v1.SessionInfo;
import io.gpupool.wire.TextMessage;
import io.gpupool.wire.Versions;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/** A lease as NVML shows it, in messages for the shim. Pure functions. */
final class GpuView {
  private static final int MAX_NAME_CHARS = 60;

  private GpuView() {}

  /**
   * The lease as a whole; driver and CUDA version are the oldest of its GPUs'.
   *
   * @param ticket by which processes that the program forks find the lease; null: it was not made
   *     for it
   */
  static TextMessage lease(DescribeLeaseReply lease, @Nullable String ticket) {
    GpuInfo oldest =
        lease.getGpusList().stream()
            .filter(gpu -> gpu.getDriverVersion() > 0)
            .min(Comparator.comparingInt(GpuInfo::getDriverVersion))
            .orElse(GpuInfo.getDefaultInstance());
    return start(lease)
        .put("gpus", lease.getLease().getGrantsCount())
        .put("cuda", oldest.getDriverVersion())
        .put("driver", DriverName.of(oldest))
        .putIfPresent("ticket", ticket)
        .build();
  }

  private static TextMessage.Builder start(DescribeLeaseReply lease) {
    return TextMessage.ofType("nvml")
        .put("protocol", Versions.LOCAL_PROTOCOL)
        .put("lease", lease.getLease().getId());
  }

  /**
   * One GPU of the lease, and the processes of this machine that use it.
   *
   * @param ordinal as the lease counts
   * @param host this machine
   */
  static TextMessage gpu(DescribeLeaseReply lease, int ordinal, String host) {
    GrantUse use = lease.getLease().getGrants(ordinal);
    Grant grant = use.getGrant();
    GpuInfo gpu =
        ordinal < lease.getGpusCount() ? lease.getGpus(ordinal) : GpuInfo.getDefaultInstance();
    TextMessage.Builder message =
        start(lease)
            .put("gpu", ordinal)
            .put("name", grant.getGpuName())
            .put("uuid", grant.getGpuUuid())
            .put("server", grant.getServer())
            .put("backend", grant.getBackend())
            .put("pci", gpu.getPciBusId())
            .put("cc", gpu.getComputeCapability())
            .put("memory", grant.getMemoryBytes())
            .put("used", use.getUsedMemoryBytes())
            .put("compute", Math.round(grant.getComputePercent() * 100))
            .put("busy", Math.round(use.getUsedComputePercent() * 100))
            .put("multiprocessors", gpu.getMultiprocessors())
            .put("clock", gpu.getClockKilohertz())
            .put("memory_clock", gpu.getMemoryClockKilohertz())
            .put("bus_bits", gpu.getMemoryBusBits());
    GpuMeasurements.of(gpu).forEach(message::put);
    message.put("peers", peers(lease, gpu));
    int count = 0;
    for (Map.Entry<Integer, Long> process : bytes(lease, ordinal, host).entrySet()) {
      int pid = process.getKey();
      message.put("process." + count++, pid + " " + process.getValue() + " " + name(lease, pid));
    }
    return message.put("processes", count).build();
  }

  /** The lease's GPUs that this one reaches, as the lease counts. */
  private static String peers(DescribeLeaseReply lease, GpuInfo gpu) {
    return IntStream.range(0, lease.getLease().getGrantsCount())
        .filter(other -> {
          Grant grant = lease.getLease().getGrants(other).getGrant();
          return gpu.getPeersList().contains(grant.getGpuUuid())
              && grant.getServer().equals(gpu.getServer());
        })
        .mapToObj(Integer::toString)
        .collect(Collectors.joining(" "));
  }

  /** Bytes on that GPU by process; a process may have a session at each server. */
  private static Map<Integer, Long> bytes(DescribeLeaseReply lease, int ordinal, String host) {
    Map<Integer, Long> bytes = new TreeMap<>();
    List<String> servers =
        lease.getLease().getGrantsList().stream().map(use -> use.getGrant().getServer()).toList();
    // A session counts the GPUs of its own server, which follow each other.
    String server = servers.get(ordinal);
    int index = ordinal - servers.indexOf(server);
    for (SessionInfo session : lease.getSessionsList()) {
      int pid = session.getClient().getPid();
      if (session.getClient().getHost().equals(host)
          && pid > 0
          && session.getServer().equals(server)) {
        bytes.merge(pid, SessionUse.bytes(lease.getLease(), session, ordinal), Long::sum);
      }
    }
    return bytes;
  }

  private static String name(DescribeLeaseReply lease, int pid) {
    return lease.getSessionsList().stream()
        .filter(session -> session.getClient().getPid() == pid)
        .map(session -> session.getClient().getProgram())
        .map(name -> name.substring(0, Math.min(name.length(), MAX_NAME_CHARS)))
        .findFirst()
        .orElse("");
  }
}
