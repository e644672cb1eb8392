// SPDX-License-Identifier: Apache-2.0
package io.gpupool.nvml;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;

/** The management library, initialised. For one thread. */
public final class Nvml {
  private static final int TEXT_BYTES = 96;
  private static final int SCRATCH_BYTES = 256;
  private static final int MIG_ENABLED = 1;
  private static final int TEMPERATURE_GPU = 0;
  private static final int CLOCK_GRAPHICS = 0;
  private static final int CLOCK_SM = 1;
  private static final int CLOCK_MEMORY = 2;
  private static final int CLOCK_VIDEO = 3;
  private static final int LAST_PERFORMANCE_STATE = 15;
  private static final int ECC_CORRECTED = 0;
  private static final int ECC_UNCORRECTED = 1;
  private static final int ECC_SINCE_START = 0;

  /** nvmlProcessInfo_t: pid, bytes, and the instances of a divided card. */
  private static final int PROCESS_BYTES = 24;

  private static final int PROCESS_USED_BYTES = 8;
  private static final int MAX_PROCESSES = 512;
  private static final int P2P_READ = 0;
  private static final int P2P_WRITE = 1;
  private static final int P2P_OK = 0;

  private final LibNvml library;
  private final Arena arena = Arena.ofAuto();
  private final MemorySegment scratch = arena.allocate(SCRATCH_BYTES, 8);
  private final MemorySegment processes = arena.allocate(MAX_PROCESSES * PROCESS_BYTES, 8);

  private Nvml(LibNvml library) {
    this.library = library;
  }

  /**
   * Opens and initialises it; empty where there is none that works.
   *
   * @param path a path, or a name for the dynamic linker such as {@code libnvidia-ml.so.1}
   */
  public static Optional<Nvml> open(String path) {
    LibNvml library;
    try {
      library = new LibNvml(path);
    } catch (IllegalArgumentException e) {
      return Optional.empty();
    }
    return library.call("nvmlInit_v2") == LibNvml.SUCCESS
        ? Optional.of(new Nvml(library))
        : Optional.empty();
  }

  /** The driver's version as NVIDIA counts, such as {@code 580.65.06}; empty if it is not told. */
  public Optional<String> driverVersion() {
    return text("nvmlSystemGetDriverVersion", scratch.address());
  }

  /** The GPUs, or in place of one that is divided (MIG) what it is divided into. */
  public List<Device> devices() {
    List<Device> found = new ArrayList<>();
    if (library.call("nvmlDeviceGetCount_v2", scratch.address()) != LibNvml.SUCCESS) {
      return found;
    }
    int count = scratch.get(JAVA_INT, 0);
    for (int index = 0; index < count; index++) {
      if (library.call("nvmlDeviceGetHandleByIndex_v2", index, scratch.address())
          == LibNvml.SUCCESS) {
        addDevice(found, scratch.get(JAVA_LONG, 0));
      }
    }
    return found;
  }

  private void addDevice(List<Device> found, long card) {
    if (number("nvmlDeviceGetMigMode", card, scratch.address(), scratch.address() + 8).orElse(0)
        != MIG_ENABLED) {
      uuid(card).ifPresent(uuid -> found.add(new Device(card, card, uuid, OptionalInt.empty())));
      return;
    }
    int most = number("nvmlDeviceGetMaxMigDeviceCount", card, scratch.address()).orElse(0);
    for (int i = 0; i < most; i++) {
      if (library.call("nvmlDeviceGetMigDeviceHandleByIndex", card, i, scratch.address())
          == LibNvml.SUCCESS) {
        long slice = scratch.get(JAVA_LONG, 0);
        OptionalInt instance = number("nvmlDeviceGetGpuInstanceId", slice, scratch.address());
        uuid(slice).ifPresent(uuid -> found.add(new Device(slice, card, uuid, instance)));
      }
    }
  }

  /**
   * A GPU or a slice of one.
   *
   * @param handle NVML's, of the slice or the whole card
   * @param card NVML's handle of the whole card
   * @param instance of a slice: its GPU instance
   */
  public record Device(long handle, long card, String uuid, OptionalInt instance) {
    public boolean isSlice() {
      return instance.isPresent();
    }
  }

  /** Whether a GPU reads and writes the other's memory itself, as far as the driver tells. */
  public boolean reaches(Device device, Device other) {
    return !device.isSlice()
        && !other.isSlice()
        && device.card() != other.card()
        && isPeer(device, other, P2P_READ)
        && isPeer(device, other, P2P_WRITE);
  }

  private boolean isPeer(Device device, Device other, int capability) {
    OptionalInt status =
        number(
            "nvmlDeviceGetP2PStatus", device.card(), other.card(), capability, scratch.address());
    return status.isPresent() && status.getAsInt() == P2P_OK;
  }

  /** How a GPU is now; what it or its driver does not tell is empty. */
  public Sample sample(Device device) {
    long card = device.card();
    int asked = library.call("nvmlDeviceGetMemoryInfo", device.handle(), scratch.address());
    OptionalLong usedBytes =
        asked == LibNvml.SUCCESS
            ? OptionalLong.of(scratch.get(JAVA_LONG, 16))
            : OptionalLong.empty();
    OptionalInt utilization =
        device.isSlice()
            ? OptionalInt.empty()
            : number("nvmlDeviceGetUtilizationRates", card, scratch.address());
    return new Sample(
        asked == LibNvml.GPU_IS_LOST ? "lost" : remapping(card),
        usedBytes,
        utilization,
        number("nvmlDeviceGetTemperature", card, TEMPERATURE_GPU, scratch.address()),
        number("nvmlDeviceGetPowerUsage", card, scratch.address()),
        number("nvmlDeviceGetEnforcedPowerLimit", card, scratch.address()),
        number("nvmlDeviceGetFanSpeed", card, scratch.address()),
        performanceState(card),
        clocks(card),
        errors(card, ECC_CORRECTED),
        errors(card, ECC_UNCORRECTED));
  }

  private Clocks clocks(long card) {
    return new Clocks(
        clock(card, CLOCK_GRAPHICS),
        clock(card, CLOCK_SM),
        clock(card, CLOCK_MEMORY),
        clock(card, CLOCK_VIDEO));
  }

  /**
   * Device memory that a process has of a GPU, in bytes; empty if the driver does not tell, or
   * knows no process of that number.
   */
  public OptionalLong usedBytes(Device device, long pid) {
    scratch.set(JAVA_INT, 0, MAX_PROCESSES);
    int result =
        library.call(
            "nvmlDeviceGetComputeRunningProcesses_v3",
            device.handle(),
            scratch.address(),
            processes.address());
    int count =
        result == LibNvml.SUCCESS ? Math.clamp(scratch.get(JAVA_INT, 0), 0, MAX_PROCESSES) : 0;
    for (long at = 0; at < (long) count * PROCESS_BYTES; at += PROCESS_BYTES) {
      long bytes = processes.get(JAVA_LONG, at + PROCESS_USED_BYTES);
      if (processes.get(JAVA_INT, at) == pid && bytes >= 0) {
        return OptionalLong.of(bytes);
      }
    }
    return OptionalLong.empty();
  }

  private OptionalInt clock(long card, int type) {
    return number("nvmlDeviceGetClockInfo", card, type, scratch.address());
  }

  private OptionalInt performanceState(long card) {
    OptionalInt state = number("nvmlDeviceGetPerformanceState", card, scratch.address());
    return state.orElse(0) > LAST_PERFORMANCE_STATE ? OptionalInt.empty() : state;
  }

  /**
   * What a GPU tells of itself.
   *
   * @param condition {@code ok}, {@code lost}, {@code row-remap-pending} or {@code
   *     row-remap-failed}
   * @param utilizationPercent time of the last second in which a kernel ran
   * @param powerLimitMilliwatts the one that is in force
   * @param fanPercent of the highest speed, as it is meant to be
   * @param performanceState 0, the fastest, to 15
   * @param correctedErrors of its memory, since the driver was loaded
   * @param uncorrectedErrors the same
   */
  public record Sample(
      String condition,
      OptionalLong usedBytes,
      OptionalInt utilizationPercent,
      OptionalInt temperatureCelsius,
      OptionalInt powerMilliwatts,
      OptionalInt powerLimitMilliwatts,
      OptionalInt fanPercent,
      OptionalInt performanceState,
      Clocks clocks,
      OptionalLong correctedErrors,
      OptionalLong uncorrectedErrors) {}

  /** How fast the parts of a GPU run now, in megahertz. */
  public record Clocks(
      OptionalInt graphics, OptionalInt sm, OptionalInt memory, OptionalInt video) {}

  /** Events that tell of faults, from now on; empty if no GPU has them. */
  public Optional<Events> faults(List<Device> devices) {
    if (library.call("nvmlEventSetCreate", scratch.address()) != LibNvml.SUCCESS) {
      return Optional.empty();
    }
    long set = scratch.get(JAVA_LONG, 0);
    long registered =
        devices.stream()
            .mapToLong(Device::card)
            .distinct()
            .filter(card -> registerFaults(card, set))
            .count();
    return registered > 0 ? Optional.of(new Events(library, arena, set)) : Optional.empty();
  }

  private boolean registerFaults(long card, long set) {
    if (library.call("nvmlDeviceGetSupportedEventTypes", card, scratch.address())
        != LibNvml.SUCCESS) {
      return false;
    }
    long wanted = scratch.get(JAVA_LONG, 0) & (Events.XID | Events.DOUBLE_BIT_ERROR);
    return wanted != 0
        && library.call("nvmlDeviceRegisterEvents", card, wanted, set) == LibNvml.SUCCESS;
  }

  private String remapping(long card) {
    int result =
        library.call(
            "nvmlDeviceGetRemappedRows",
            card,
            scratch.address(),
            scratch.address() + 4,
            scratch.address() + 8,
            scratch.address() + 12);
    if (result == LibNvml.GPU_IS_LOST) {
      return "lost";
    }
    if (result != LibNvml.SUCCESS) {
      return "ok";
    }
    if (scratch.get(JAVA_INT, 12) != 0) {
      return "row-remap-failed";
    }
    return scratch.get(JAVA_INT, 8) != 0 ? "row-remap-pending" : "ok";
  }

  private OptionalLong errors(long card, int kind) {
    return library.call(
                "nvmlDeviceGetTotalEccErrors", card, kind, ECC_SINCE_START, scratch.address())
            == LibNvml.SUCCESS
        ? OptionalLong.of(scratch.get(JAVA_LONG, 0))
        : OptionalLong.empty();
  }

  private Optional<String> uuid(long handle) {
    return text("nvmlDeviceGetUUID", handle, scratch.address());
  }

  /** An unsigned int at the start of the scratch memory, which a word points to. */
  private OptionalInt number(String function, long... words) {
    return library.call(function, words) == LibNvml.SUCCESS
        ? OptionalInt.of(scratch.get(JAVA_INT, 0))
        : OptionalInt.empty();
  }

  /** A text in the scratch memory, to which the last word points. */
  private Optional<String> text(String function, long... words) {
    long[] withLength = Arrays.copyOf(words, words.length + 1);
    withLength[words.length] = TEXT_BYTES;
    scratch.asSlice(0, TEXT_BYTES).fill((byte) 0);
    return library.call(function, withLength) == LibNvml.SUCCESS
            && scratch.get(JAVA_BYTE, TEXT_BYTES - 1) == 0
        ? Optional.of(scratch.getString(0))
        : Optional.empty();
  }
}
