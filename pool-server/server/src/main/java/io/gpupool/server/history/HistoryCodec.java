// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.history;

import io.gpupool.control.state.v1.GpuHistoryRecord;
import io.gpupool.control.state.v1.HistoryLeaseRecord;
import io.gpupool.control.state.v1.HistoryRecord;
import io.gpupool.control.state.v1.PortionRecord;
import io.gpupool.control.state.v1.SampleRecord;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** The stored form of samples. A lease is named once per GPU. */
final class HistoryCodec {
  private final GpuHistoryRecord.Builder gpu = GpuHistoryRecord.newBuilder();
  private final Map<LeaseLabel, Integer> numbers = new LinkedHashMap<>();

  private HistoryCodec() {}

  /**
   * Writes what GPUs had.
   *
   * @param samples by UUID and window
   */
  static HistoryRecord record(Map<String, Map<Window, List<Sample>>> samples) {
    HistoryRecord.Builder record = HistoryRecord.newBuilder();
    samples.forEach((uuid, windows) -> record.addGpus(new HistoryCodec().gpu(uuid, windows)));
    return record.build();
  }

  /**
   * Reads it again, by UUID.
   *
   * @throws IndexOutOfBoundsException if a sample is of a lease without a name
   */
  static Map<String, GpuSamples> samples(HistoryRecord record) {
    Map<String, GpuSamples> samples = new LinkedHashMap<>();
    for (GpuHistoryRecord gpu : record.getGpusList()) {
      List<LeaseLabel> leases = gpu.getLeasesList().stream().map(HistoryCodec::name).toList();
      samples.put(
          gpu.getUuid(),
          new GpuSamples(
              gpu.getHourList().stream().map(sample -> sample(sample, leases)).toList(),
              gpu.getDayList().stream().map(sample -> sample(sample, leases)).toList()));
    }
    return samples;
  }

  private GpuHistoryRecord gpu(String uuid, Map<Window, List<Sample>> windows) {
    gpu.setUuid(uuid);
    windows.getOrDefault(Window.hour, List.of()).forEach(sample -> gpu.addHour(record(sample)));
    windows.getOrDefault(Window.day, List.of()).forEach(sample -> gpu.addDay(record(sample)));
    numbers.keySet().forEach(name -> gpu.addLeases(record(name)));
    return gpu.build();
  }

  private SampleRecord record(Sample sample) {
    SampleRecord.Builder record =
        SampleRecord.newBuilder().setAtMillis(sample.atMillis()).setMillis(sample.millis());
    for (LeaseSample portion : sample.portions()) {
      record.addPortions(
          PortionRecord.newBuilder()
              .setLease(numbers.computeIfAbsent(portion.lease(), name -> numbers.size()))
              .setGrantedNanos(portion.grantedNanos())
              .setUsedNanos(portion.usedNanos())
              .setWaitedNanos(portion.waitedNanos())
              .setUsedBytes(portion.usedBytes())
              .setGrantedBytes(portion.grantedBytes()));
    }
    return record.build();
  }

  private static HistoryLeaseRecord record(LeaseLabel name) {
    return HistoryLeaseRecord.newBuilder()
        .setId(name.id())
        .setTenant(name.tenant())
        .setProgram(name.program())
        .setHolder(name.holder())
        .build();
  }

  private static LeaseLabel name(HistoryLeaseRecord record) {
    return new LeaseLabel(
        record.getId(), record.getTenant(), record.getProgram(), record.getHolder());
  }

  private static Sample sample(SampleRecord record, List<LeaseLabel> leases) {
    List<LeaseSample> portions = new ArrayList<>();
    for (PortionRecord portion : record.getPortionsList()) {
      portions.add(
          new LeaseSample(
              leases.get(portion.getLease()),
              portion.getGrantedNanos(),
              portion.getUsedNanos(),
              portion.getWaitedNanos(),
              portion.getUsedBytes(),
              portion.getGrantedBytes()));
    }
    return new Sample(record.getAtMillis(), record.getMillis(), portions);
  }
}
