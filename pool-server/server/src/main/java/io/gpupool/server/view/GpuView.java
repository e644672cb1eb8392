// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.view;

import io.gpupool.control.v1.GpuInfo;
import io.gpupool.control.v1.ListGpusReply;
import io.gpupool.server.capacity.Capacity;
import io.gpupool.server.gpu.Gpu;
import io.gpupool.server.gpu.Share;
import io.gpupool.server.health.Faults;
import io.gpupool.server.health.GpuHealth;
import io.gpupool.server.health.Reading;
import io.gpupool.server.placement.Placement.Part;
import io.gpupool.server.records.GpuFault;
import java.util.Optional;

/** A view of the pool's GPUs as messages. Runs on the control thread. */
public record GpuView(Capacity capacity, GpuHealth health) {
  public ListGpusReply list() {
    ListGpusReply.Builder reply = ListGpusReply.newBuilder();
    capacity.gpus().forEach(gpu -> reply.addGpus(info(gpu)));
    return reply.build();
  }

  /** The GPU of a part of a lease, if it is in the pool. */
  GpuInfo of(Part part) {
    return capacity.gpus().stream()
        .filter(gpu ->
            gpu.server().equals(part.gpu().server()) && gpu.ordinal() == part.gpu().ordinal())
        .findFirst()
        .map(this::info)
        .orElse(GpuInfo.getDefaultInstance());
  }

  private GpuInfo info(Gpu gpu) {
    Share free = capacity.free(gpu);
    Share freeInPartitions = capacity.freeInPartitions(gpu);
    Optional<GpuFault> fault = capacity.ailment(gpu);
    GpuInfo.Builder info =
        GpuInfo.newBuilder()
            .setServer(gpu.server())
            .setGpu(gpu.ordinal())
            .setUuid(gpu.uuid())
            .setName(gpu.name())
            .setComputeCapability(gpu.computeCapability())
            .setMemoryBytes(gpu.memoryBytes())
            .setFreeMemoryBytes(free.memoryBytes())
            .setFreeComputePercent(free.computePercent())
            .setFreePartitionMemoryBytes(freeInPartitions.memoryBytes())
            .setFreePartitionComputePercent(freeInPartitions.computePercent())
            .setDriverVersion(gpu.driverVersion())
            .addAllLabels(gpu.labelTexts())
            .setDriver(gpu.facts().driver())
            .setPciBusId(gpu.facts().pciBusId())
            .setMultiprocessors(gpu.facts().multiprocessors())
            .setClockKilohertz(gpu.facts().clockKilohertz())
            .setMemoryClockKilohertz(gpu.facts().memoryClockKilohertz())
            .setMemoryBusBits(gpu.facts().memoryBusBits())
            .setContextMemoryBytes(gpu.facts().contextBytes())
            .setHealth(
                fault.isPresent() ? GpuInfo.Health.HEALTH_UNHEALTHY : GpuInfo.Health.HEALTH_HEALTHY)
            .setProblem(fault.map(GpuFault::problem).orElse(""));
    health.sample(gpu).ifPresent(sample -> measure(info, sample));
    Faults faults = health.faults(gpu);
    return info.setFaults(faults.count()).addAllLastFaults(faults.last()).build();
  }

  private static void measure(GpuInfo.Builder info, Reading sample) {
    sample.number("temperature").ifPresent(value -> info.setTemperatureCelsius((int) value));
    sample.number("power").ifPresent(value -> info.setPowerMilliwatts((int) value));
    sample.number("utilization").ifPresent(value -> info.setUtilizationPercent((int) value));
    sample.number("limit").ifPresent(value -> info.setPowerLimitMilliwatts((int) value));
    sample.number("fan").ifPresent(value -> info.setFanPercent((int) value));
    sample.number("performance").ifPresent(value -> info.setPerformanceState((int) value));
    sample.number("graphics").ifPresent(value -> info.setGraphicsMegahertz((int) value));
    sample.number("sm").ifPresent(value -> info.setSmMegahertz((int) value));
    sample.number("memory").ifPresent(value -> info.setMemoryMegahertz((int) value));
    sample.number("video").ifPresent(value -> info.setVideoMegahertz((int) value));
    sample.number("corrected").ifPresent(info::setCorrectedErrors);
    sample.number("ecc").ifPresent(info::setUncorrectedErrors);
    info.addAllPeers(sample.list("peers"));
  }
}
