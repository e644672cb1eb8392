// SPDX-License-Identifier: Apache-2.0
package io.gpupool.cli.smi;

import io.gpupool.agent.nvml.DriverName;
import io.gpupool.agent.nvml.SessionUse;
import io.gpupool.cli.PoolSnapshot;
import io.gpupool.control.v1.DescribeLeaseReply;
import io.gpupool.control.v1.GpuInfo;
import io.gpupool.control.v1.Grant;
import io.gpupool.control.v1.GrantUse;
import io.gpupool.control.v1.LeaseInfo;
import io.gpupool.control.v1.SessionInfo;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/**
 * A GPU as {@code gpupool smi} shows it: one of a lease, of which all amounts are then, or one of
 * the pool.
 *
 * @param card the GPU as its server describes it, measurements included
 * @param utilization percent, 0 to 100
 */
record SmiGpu(int index, GpuInfo card, long usedBytes, int utilization, List<Process> processes) {
  /** A program on the GPU. */
  record Process(int pid, String name, long usedBytes) {}

  SmiGpu {
    processes = List.copyOf(processes);
  }

  String name() {
    return card.getName();
  }

  String uuid() {
    return card.getUuid();
  }

  /** Returns the bus id as NVIDIA's tools write it, {@code 00000000:01:00.0}. */
  String busId() {
    return busId(card.getPciBusId());
  }

  String computeCapability() {
    return card.getComputeCapability();
  }

  /** Returns the name of the driver's version. */
  String driver() {
    return DriverName.of(card);
  }

  /** Returns the version of CUDA as CUDA counts: 13000 is 13.0. */
  int cuda() {
    return card.getDriverVersion();
  }

  long totalBytes() {
    return card.getMemoryBytes();
  }

  long freeBytes() {
    return Math.max(0, totalBytes() - usedBytes);
  }

  /** Returns the GPUs of a lease. */
  static List<SmiGpu> of(DescribeLeaseReply lease) {
    List<SmiGpu> gpus = new ArrayList<>();
    for (int i = 0; i < lease.getLease().getGrantsCount(); i++) {
      GrantUse use = lease.getLease().getGrants(i);
      Grant grant = use.getGrant();
      gpus.add(
          of(
              i,
              lease.getGpus(i).toBuilder()
                  .setName(grant.getGpuName())
                  .setUuid(grant.getGpuUuid())
                  .setMemoryBytes(grant.getMemoryBytes())
                  .build(),
              use.getUsedMemoryBytes(),
              100 * use.getUsedComputePercent() / Math.max(0.01, grant.getComputePercent()),
              processes(lease.getLease(), lease.getSessionsList(), i)));
    }
    return gpus;
  }

  /** Returns the GPUs of a pool. */
  static List<SmiGpu> of(PoolSnapshot pool) {
    List<SmiGpu> gpus = new ArrayList<>();
    for (GpuInfo gpu : pool.gpus()) {
      long usedBytes = 0;
      double percent = 0;
      List<Process> processes = new ArrayList<>();
      for (LeaseInfo lease : pool.leases()) {
        for (int i = 0; i < lease.getGrantsCount(); i++) {
          GrantUse use = lease.getGrants(i);
          if (use.getGrant().getServer().equals(gpu.getServer())
              && use.getGrant().getGpu() == gpu.getGpu()) {
            usedBytes += use.getUsedMemoryBytes();
            percent += use.getUsedComputePercent();
            processes.addAll(
                processes(
                    lease,
                    pool.sessions().stream()
                        .filter(session -> session.getLeaseId().equals(lease.getId()))
                        .toList(),
                    i));
          }
        }
      }
      gpus.add(of(gpus.size(), gpu, usedBytes, percent, processes));
    }
    return gpus;
  }

  private static SmiGpu of(
      int index, GpuInfo gpu, long usedBytes, double percent, List<Process> processes) {
    return new SmiGpu(index, gpu, usedBytes, (int) Math.round(Math.min(100, percent)), processes);
  }

  /** A program that has sessions at several servers is one of each. */
  private static List<Process> processes(LeaseInfo lease, List<SessionInfo> sessions, int ordinal) {
    String server = lease.getGrants(ordinal).getGrant().getServer();
    return sessions.stream()
        .filter(session -> session.getServer().isEmpty() || session.getServer().equals(server))
        .map(session ->
            new Process(
                session.getClient().getPid(),
                session.getClient().getProgram(),
                SessionUse.bytes(lease, session, ordinal)))
        .toList();
  }

  /** Widens CUDA's four digits of the domain to NVIDIA's eight. */
  private static String busId(String cuda) {
    return cuda.matches("[0-9A-Fa-f]{4}:.*") ? "0000" + cuda.toUpperCase(Locale.ROOT) : cuda;
  }
}
