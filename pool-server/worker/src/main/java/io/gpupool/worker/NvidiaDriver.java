// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker;

import io.gpupool.cuda.Backend;
import io.gpupool.cuda.DriverAddresses;
import io.gpupool.cuda.LibCuda;
import io.gpupool.worker.DriverException.Stage;
import io.gpupool.worker.nvidia.NvidiaGpus;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.util.Map;

/** Start of NVIDIA's driver in this process, with advice where it fails. */
final class NvidiaDriver {
  private static final int SYSTEM_NOT_READY = 802;
  private static final long NANOS_PER_MILLI = 1_000_000;

  /** Causes of errors of cuInit on machines that have a GPU, with advice. */
  private static final Map<Integer, String> ADVICE =
      Map.ofEntries(
          Map.entry(3, "see the kernel's log for lines that begin with NVRM"),
          Map.entry(
              46,
              "a GPU is in compute mode Exclusive_Process or Prohibited; nvidia-smi -c 0 sets"
                  + " Default"),
          Map.entry(
              100,
              "the driver sees no GPU: is there a /dev/nvidia0, and was this container given"
                  + " GPUs?"),
          Map.entry(
              SYSTEM_NOT_READY, "on machines with NVSwitch nvidia-fabricmanager has to run first"),
          Map.entry(
              803,
              "library and kernel module are of different versions: load the new module, or restart"
                  + " the machine"),
          Map.entry(
              804,
              "the library is one for forward compatibility, which this GPU does not support: use"
                  + " the driver's own"),
          Map.entry(
              805,
              "the MPS control daemon cannot be reached: is it of the same user as the server?"),
          Map.entry(
              806, "the MPS server did not answer; the log of nvidia-cuda-mps-control says why"),
          Map.entry(
              807,
              "the MPS server recovers from a fault of one of its programs; others can start when"
                  + " all of them have ended"),
          Map.entry(
              808,
              "a GPU serves 48 programs at a time by MPS, 60 with newer drivers; wait for some to"
                  + " end, or use --sharing timeslice"),
          Map.entry(809, "the GPU has no connections left for more programs by MPS"),
          Map.entry(
              999,
              "is the kernel module nvidia-uvm loaded, and /dev/nvidia-uvm there? nvidia-modprobe"
                  + " -u -c=0 does both"));

  private NvidiaDriver() {}

  /**
   * Loads and initialises the driver.
   *
   * @param options which libraries, and how GPUs are shared
   * @param libnccl where NCCL is
   * @throws DriverException if it is not there or does not start; says why, and what to do
   */
  static Backend start(WorkerOptions.Driver options, String libnccl) throws DriverException {
    DriverAddresses.reserve(0);
    try {
      LibCuda.open(options.libcuda());
    } catch (FileNotFoundException e) {
      throw new DriverException(Stage.NOT_FOUND, "there is no NVIDIA driver: " + e.getMessage());
    } catch (IOException e) {
      throw new DriverException(
          Stage.BROKEN, "the NVIDIA driver's library cannot be loaded: " + e.getMessage());
    }
    Backend backend =
        new NvidiaGpus(
            new NvidiaGpus.Options(
                options.timeSliced(),
                options.inFlightBoundMillis() * NANOS_PER_MILLI,
                options.libnvml(),
                options.contextBytes(),
                options.movable(),
                libnccl));
    int result = backend.cuInit(0);
    if (result != 0) {
      String advice = ADVICE.get(result);
      throw new DriverException(
          result == SYSTEM_NOT_READY ? Stage.NOT_READY : Stage.BROKEN,
          "cuInit of the NVIDIA driver failed with "
              + LibCuda.errorName(result)
              + (advice == null ? "" : ": " + advice));
    }
    return backend;
  }
}
