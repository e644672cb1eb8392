// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.command;

import io.gpupool.server.driver.DriverOptions;
import io.gpupool.server.driver.DriverOptions.Sharing;
import io.gpupool.server.gpu.GpuSpec;
import io.gpupool.server.options.GpuOptions;
import io.gpupool.server.options.GpuOptions.MissingPtx;
import io.gpupool.wire.ByteSize;
import io.gpupool.wire.InFlightBound;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** The options of the GPUs that a server serves. */
final class GpuServerOptions {
  @Option(
      names = "--gpus",
      paramLabel = "GPUS",
      defaultValue = "all",
      description = {
        "all: those of the NVIDIA driver, or one in software where there is none;",
        "soft:N[,mem=SIZE][,cc=X.Y]: N in software (default: ${DEFAULT-VALUE})"
      })
  private String gpus = "all";

  @Option(
      names = "--label",
      paramLabel = "KEY=VALUE",
      description = {
        "says something of its GPUs, such as zone=eu, which requests select by as label.zone=eu;",
        "may be repeated"
      })
  private Map<String, String> labels = new LinkedHashMap<>();

  @Option(
      names = "--libcuda",
      paramLabel = "PATH",
      description = "the NVIDIA driver's libcuda.so.1, where it is not on the usual path")
  private @Nullable Path libcuda;

  @Option(
      names = "--libnvml",
      paramLabel = "PATH",
      description =
          "its libnvidia-ml.so.1, which tells of the GPUs' health, where it is not on the usual"
              + " path")
  private @Nullable Path libnvml;

  @Option(
      names = "--libnccl",
      paramLabel = "PATH|off",
      description = {
        "NVIDIA's libnccl.so.2, at least 2.18, by which programs' collectives run at the servers of"
            + " NVIDIA GPUs;",
        "off: none, and workers open no network sockets (default: the newest that is found)"
      })
  private @Nullable String libnccl;

  @Option(
      names = "--context-memory",
      paramLabel = "SIZE",
      description = {
        "memory of an NVIDIA GPU that each program's context takes by itself, such as 600Mi:"
            + " counted",
        "against its lease (default: measured when the server starts)"
      })
  private @Nullable String contextMemory;

  @Option(
      names = "--sharing",
      paramLabel = "timeslice|mps|driver",
      defaultValue = "timeslice",
      description = {
        "how the leases of an NVIDIA GPU share it: one after the other, each for its share of the"
            + " time; at",
        "the same time through NVIDIA's Multi-Process Service, which this server then starts, each"
            + " on its",
        "share of the multiprocessors, where its programs take turns; or as the driver does by"
            + " itself,",
        "whatever their shares are (default: ${DEFAULT-VALUE})"
      })
  private Sharing sharing = Sharing.timeslice;

  @Option(
      names = "--in-flight-bound",
      paramLabel = "MILLIS",
      defaultValue = "" + InFlightBound.USUAL_MILLIS,
      description = {
        "how long the work of one lease may take that is under way on an NVIDIA GPU while another"
            + " lease",
        "(by MPS: another program of the lease) wants it, 1 to 1000; a kernel that takes longer is"
            + " under",
        "way alone (default: ${DEFAULT-VALUE})"
      })
  private int inFlightBoundMillis;

  @Option(
      names = "--movable",
      description = {
        "has leases of NVIDIA GPUs move as well, to GPUs of the same model with the same driver:"
            + " programs",
        "then get device memory at addresses that the server chooses, which no card has tried"
            + " yet; those of software GPUs always move"
      })
  private boolean movable;

  @Option(
      names = "--soft-missing-ptx",
      paramLabel = "fail|skip",
      defaultValue = "fail",
      description = "a launch in software of a kernel without PTX (default: ${DEFAULT-VALUE})")
  private MissingPtx missingPtx = MissingPtx.fail;

  GpuOptions options() {
    return new GpuOptions(
        new GpuSpec(gpus),
        new DriverOptions(
            libcuda,
            libnvml,
            libnccl,
            contextMemory == null ? null : ByteSize.parse(contextMemory).bytes(),
            sharing,
            inFlightBoundMillis,
            movable),
        missingPtx,
        labels);
  }
}
