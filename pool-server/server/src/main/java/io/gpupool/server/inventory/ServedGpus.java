// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.inventory;

import io.gpupool.server.driver.DriverOptions.Sharing;
import io.gpupool.server.gpu.Gpu;
import io.gpupool.server.gpu.GpuSpec;
import io.gpupool.server.lease.usage.GpuScheduleTable.Levels;
import io.gpupool.server.options.ServerOptions;
import java.io.IOException;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The GPUs that a server serves.
 *
 * @param isFallback whether they are software GPUs because there is no NVIDIA driver
 */
public record ServedGpus(
    GpuSpec spec, boolean isFallback, Sharing sharing, boolean movable, List<Gpu> gpus) {
  private static final Logger LOG = LoggerFactory.getLogger(ServedGpus.class);

  public ServedGpus {
    gpus = List.copyOf(gpus);
  }

  /**
   * The GPUs as far as they are known before an inventory in software is taken.
   *
   * @param driver those of the NVIDIA driver; null: there is none, or software is asked for
   */
  public record Probe(GpuSpec spec, @Nullable List<Gpu> driver) {
    public static Probe of(ServerOptions options, String server) throws IOException {
      GpuSpec asked = options.gpus().spec();
      List<Gpu> driver =
          asked.isSoft() ? null : GpuInventory.probeDriver(options, server).orElse(null);
      if (driver == null && !asked.isSoft()) {
        LOG.info("no NVIDIA driver found; serving one GPU in software instead (--gpus soft:1)");
        return new Probe(GpuInventory.FALLBACK, null);
      }
      return new Probe(asked, driver);
    }

    /** Returns whether there is an NCCL that carries collectives out. */
    public boolean hasNccl() {
      return driver != null && driver.stream().anyMatch(gpu -> gpu.facts().ncclVersion() > 0);
    }

    /** Takes the inventory, if the driver has not told it. */
    public ServedGpus complete(ServerOptions options, String server) throws IOException {
      List<Gpu> found = driver != null ? driver : GpuInventory.probe(options, spec, server);
      return new ServedGpus(
          spec,
          spec.isSoft() && !options.gpus().spec().isSoft(),
          options.gpus().driver().sharing(),
          options.gpus().driver().movable(),
          found.stream().map(gpu -> gpu.withLabels(options.gpus().labels())).toList());
    }
  }

  public boolean isSoft() {
    return spec.isSoft();
  }

  public boolean isMps() {
    return !isSoft() && sharing == Sharing.mps;
  }

  /** Whether sessions may move to other GPUs: in software, they always may. */
  public boolean isMovable() {
    return isSoft() || movable;
  }

  /** The kind of backend that serves them. */
  public String backend() {
    return isSoft() ? "soft" : "nvidia";
  }

  /**
   * Returns the levels that take time slices. Programs of one lease share a software GPU at any
   * moment, as its cores do.
   */
  public Levels levels() {
    if (isSoft()) {
      return Levels.LEASES;
    }
    return isMps() ? Levels.PROGRAMS : Levels.LEASES_AND_PROGRAMS;
  }

  /** The GPUs in a few words: {@code 1 GPU in software}. */
  public String summary() {
    String kind = isSoft() ? " in software" : "";
    return gpus.size()
        + (gpus.size() == 1 ? " GPU" : " GPUs")
        + kind
        + (isFallback ? " (no NVIDIA driver found)" : "");
  }
}
