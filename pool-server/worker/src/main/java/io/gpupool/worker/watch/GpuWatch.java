// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.watch;

import io.gpupool.nvml.Events;
import io.gpupool.nvml.Nvml;
import java.io.PrintStream;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * A process that reports the state of the GPUs, a line each: measurements once a second, and faults
 * as they come. The pool-server reads the lines; it loads no driver itself.
 *
 * <pre>
 * sample uuid=GPU-... condition=ok used=1024 utilization=50 temperature=40 power=71000 limit=350000 fan=30
 *    performance=0 graphics=1980 sm=1980 memory=3201 video=1545 corrected=0 ecc=0 peers=GPU-...,GPU-...
 * fault uuid=GPU-... xid=79
 * </pre>
 *
 * A sample is one line. What a GPU does not tell is left out. {@code xid=0} is an error of memory
 * that could not be corrected.
 */
public final class GpuWatch {
  private static final int INTERVAL_MILLIS = 1000;

  private final Nvml nvml;
  private final List<Nvml.Device> devices;
  private final @Nullable Events faults;
  private final Map<Nvml.Device, String> peers = new HashMap<>();
  private final PrintStream out;

  public GpuWatch(Nvml nvml, PrintStream out) {
    this.nvml = nvml;
    this.out = out;
    devices = nvml.devices();
    faults = nvml.faults(devices).orElse(null);
    // They do not change while the driver is loaded.
    devices.forEach(device -> peers.put(device, peersOf(device)));
  }

  private String peersOf(Nvml.Device device) {
    return devices.stream()
        .filter(other -> nvml.reaches(device, other))
        .map(Nvml.Device::uuid)
        .collect(Collectors.joining(","));
  }

  /** Goes on until nobody reads, or the driver tells no more. */
  public void run() {
    while (!out.checkError()) {
      devices.forEach(device -> out.println(line(device, nvml.sample(device))));
      out.flush();
      awaitFaults();
    }
  }

  private void awaitFaults() {
    if (faults == null) {
      sleep();
      return;
    }
    long end = System.nanoTime() + INTERVAL_MILLIS * 1_000_000L;
    for (long left = INTERVAL_MILLIS; left > 0; left = (end - System.nanoTime()) / 1_000_000) {
      Optional<Events.Fault> fault = faults.await((int) left);
      fault.ifPresent(told -> {
        devices.stream()
            .filter(told::isOf)
            .forEach(device -> out.println("fault uuid=" + device.uuid() + " xid=" + told.xid()));
        out.flush();
      });
    }
  }

  private String line(Nvml.Device device, Nvml.Sample sample) {
    StringBuilder line =
        new StringBuilder("sample uuid=" + device.uuid() + " condition=" + sample.condition());
    add(line, "used", sample.usedBytes());
    add(line, "utilization", sample.utilizationPercent());
    add(line, "temperature", sample.cooling().temperatureCelsius());
    add(line, "power", sample.power().milliwatts());
    add(line, "limit", sample.power().limitMilliwatts());
    add(line, "fan", sample.cooling().fanPercent());
    add(line, "performance", sample.performanceState());
    add(line, "graphics", sample.clocks().graphics());
    add(line, "sm", sample.clocks().sm());
    add(line, "memory", sample.clocks().memory());
    add(line, "video", sample.clocks().video());
    add(line, "corrected", sample.errors().corrected());
    add(line, "ecc", sample.errors().uncorrected());
    String reached = Objects.requireNonNull(peers.get(device));
    return reached.isEmpty() ? line.toString() : line + " peers=" + reached;
  }

  private static void add(StringBuilder line, String key, @Nullable Number value) {
    if (value != null) {
      line.append(' ').append(key).append('=').append(value);
    }
  }

  private static void sleep() {
    try {
      Thread.sleep(INTERVAL_MILLIS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException("interrupted", e);
    }
  }
}
