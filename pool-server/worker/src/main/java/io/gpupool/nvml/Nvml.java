// SPDX-License-Identifier: Apache-2.0
package io.gpupool.nvml;

import com.sun.jna.Memory;
import com.sun.jna.Native;
import com.sun.jna.ptr.IntByReference;
import com.sun.jna.ptr.LongByReference;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.function.ToIntFunction;
import org.jspecify.annotations.Nullable;

/** The management library, initialised. For one thread. */
public final class Nvml {
  private static final int TEXT_BYTES = 96;
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

  private static final int MAX_PROCESSES = 512;
  private static final int P2P_READ = 0;
  private static final int P2P_WRITE = 1;
  private static final int P2P_OK = 0;

  private final LibNvml library;
  private final IntByReference number = new IntByReference();
  private final LongByReference longNumber = new LongByReference();
  private final Memory processes = new Memory((long) MAX_PROCESSES * LibNvml.ProcessInfo.BYTES);

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
      library = LibNvml.open(path);
    } catch (UnsatisfiedLinkError e) {
      return Optional.empty();
    }
    return library.nvmlInit_v2() == LibNvml.SUCCESS
        ? Optional.of(new Nvml(library))
        : Optional.empty();
  }

  /** The driver's version as NVIDIA counts, such as {@code 580.65.06}; empty if it is not told. */
  public Optional<String> driverVersion() {
    return text(version -> library.nvmlSystemGetDriverVersion(version, TEXT_BYTES));
  }

  /** The GPUs, or in place of one that is divided (MIG) what it is divided into. */
  public List<Device> devices() {
    List<Device> found = new ArrayList<>();
    int count = number(library::nvmlDeviceGetCount_v2).orElse(0);
    for (int i = 0; i < count; i++) {
      int index = i;
      longNumber(handle -> library.nvmlDeviceGetHandleByIndex_v2(index, handle))
          .ifPresent(card -> addDevice(found, card));
    }
    return found;
  }

  private void addDevice(List<Device> found, long card) {
    IntByReference pending = new IntByReference();
    if (number(mode -> library.nvmlDeviceGetMigMode(card, mode, pending)).orElse(0)
        != MIG_ENABLED) {
      uuid(card).ifPresent(uuid -> found.add(new Device(card, card, uuid, null)));
      return;
    }
    int most = number(count -> library.nvmlDeviceGetMaxMigDeviceCount(card, count)).orElse(0);
    for (int i = 0; i < most; i++) {
      int index = i;
      longNumber(handle -> library.nvmlDeviceGetMigDeviceHandleByIndex(card, index, handle))
          .ifPresent(slice -> addSlice(found, card, slice));
    }
  }

  private void addSlice(List<Device> found, long card, long slice) {
    Integer instance = number(id -> library.nvmlDeviceGetGpuInstanceId(slice, id)).orElse(null);
    uuid(slice).ifPresent(uuid -> found.add(new Device(slice, card, uuid, instance)));
  }

  /**
   * A GPU or a slice of one.
   *
   * @param handle NVML's, of the slice or the whole card
   * @param card NVML's handle of the whole card
   * @param instance the GPU instance of a slice; null of a whole card
   */
  public record Device(long handle, long card, String uuid, @Nullable Integer instance) {
    public boolean isSlice() {
      return instance != null;
    }
  }

  /**
   * Returns whether a GPU reads and writes the other's memory itself, as far as the driver tells.
   */
  public boolean reaches(Device device, Device other) {
    return !device.isSlice()
        && !other.isSlice()
        && device.card() != other.card()
        && isPeer(device, other, P2P_READ)
        && isPeer(device, other, P2P_WRITE);
  }

  private boolean isPeer(Device device, Device other, int capability) {
    return number(at -> library.nvmlDeviceGetP2PStatus(device.card(), other.card(), capability, at))
        .filter(status -> status == P2P_OK)
        .isPresent();
  }

  /** Measures a GPU. */
  public Sample sample(Device device) {
    long card = device.card();
    LibNvml.MemoryInfo memory = new LibNvml.MemoryInfo();
    int asked = library.nvmlDeviceGetMemoryInfo(device.handle(), memory);
    return new Sample(
        asked == LibNvml.GPU_IS_LOST ? "lost" : remapping(card),
        asked == LibNvml.SUCCESS ? memory.usedBytes : null,
        device.isSlice() ? null : utilization(card),
        new Cooling(
            number(celsius -> library.nvmlDeviceGetTemperature(card, TEMPERATURE_GPU, celsius))
                .orElse(null),
            number(percent -> library.nvmlDeviceGetFanSpeed(card, percent)).orElse(null)),
        new Power(
            number(milliwatts -> library.nvmlDeviceGetPowerUsage(card, milliwatts)).orElse(null),
            number(milliwatts -> library.nvmlDeviceGetEnforcedPowerLimit(card, milliwatts))
                .orElse(null)),
        performanceState(card),
        clocks(card),
        new MemoryErrors(errors(card, ECC_CORRECTED), errors(card, ECC_UNCORRECTED)));
  }

  private @Nullable Integer utilization(long card) {
    LibNvml.Utilization rates = new LibNvml.Utilization();
    return library.nvmlDeviceGetUtilizationRates(card, rates) == LibNvml.SUCCESS
        ? rates.gpuPercent
        : null;
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
    IntByReference count = new IntByReference(MAX_PROCESSES);
    int result = library.nvmlDeviceGetComputeRunningProcesses_v3(device.handle(), count, processes);
    int told = result == LibNvml.SUCCESS ? Math.clamp(count.getValue(), 0, MAX_PROCESSES) : 0;
    for (int i = 0; i < told; i++) {
      LibNvml.ProcessInfo process =
          new LibNvml.ProcessInfo(processes.share((long) i * LibNvml.ProcessInfo.BYTES));
      if (process.pid == pid && process.usedBytes >= 0) {
        return OptionalLong.of(process.usedBytes);
      }
    }
    return OptionalLong.empty();
  }

  private @Nullable Integer clock(long card, int type) {
    return number(megahertz -> library.nvmlDeviceGetClockInfo(card, type, megahertz)).orElse(null);
  }

  private @Nullable Integer performanceState(long card) {
    return number(at -> library.nvmlDeviceGetPerformanceState(card, at))
        .filter(state -> state <= LAST_PERFORMANCE_STATE)
        .orElse(null);
  }

  /**
   * Measurements of a GPU; those that it or its driver does not give are null.
   *
   * @param condition {@code ok}, {@code lost}, {@code row-remap-pending} or {@code
   *     row-remap-failed}
   * @param utilizationPercent time of the last second in which a kernel ran
   * @param performanceState 0, the fastest, to 15
   */
  public record Sample(
      String condition,
      @Nullable Long usedBytes,
      @Nullable Integer utilizationPercent,
      Cooling cooling,
      Power power,
      @Nullable Integer performanceState,
      Clocks clocks,
      MemoryErrors errors) {}

  /**
   * Temperature of a GPU, and the speed of its fan.
   *
   * @param fanPercent the intended part of the highest speed
   */
  public record Cooling(@Nullable Integer temperatureCelsius, @Nullable Integer fanPercent) {}

  /** Power that a GPU takes, and the limit that is in force. */
  public record Power(@Nullable Integer milliwatts, @Nullable Integer limitMilliwatts) {}

  /** Errors of a GPU's memory since the driver was loaded. */
  public record MemoryErrors(@Nullable Long corrected, @Nullable Long uncorrected) {}

  /** Present clock rates of the parts of a GPU, in megahertz. */
  public record Clocks(
      @Nullable Integer graphics,
      @Nullable Integer sm,
      @Nullable Integer memory,
      @Nullable Integer video) {}

  /** Events that tell of faults, from now on; empty if no GPU has them. */
  public Optional<Events> faults(List<Device> devices) {
    Optional<Long> created = longNumber(library::nvmlEventSetCreate);
    if (created.isEmpty()) {
      return Optional.empty();
    }
    long set = created.get();
    long registered =
        devices.stream()
            .mapToLong(Device::card)
            .distinct()
            .filter(card -> registerFaults(card, set))
            .count();
    return registered > 0 ? Optional.of(new Events(library, set)) : Optional.empty();
  }

  private boolean registerFaults(long card, long set) {
    long supported =
        longNumber(types -> library.nvmlDeviceGetSupportedEventTypes(card, types)).orElse(0L);
    long wanted = supported & (Events.XID | Events.DOUBLE_BIT_ERROR);
    return wanted != 0 && library.nvmlDeviceRegisterEvents(card, wanted, set) == LibNvml.SUCCESS;
  }

  private String remapping(long card) {
    IntByReference rows = new IntByReference();
    IntByReference pending = new IntByReference();
    IntByReference failed = new IntByReference();
    int result = library.nvmlDeviceGetRemappedRows(card, rows, rows, pending, failed);
    if (result == LibNvml.GPU_IS_LOST) {
      return "lost";
    }
    if (result != LibNvml.SUCCESS) {
      return "ok";
    }
    if (failed.getValue() != 0) {
      return "row-remap-failed";
    }
    return pending.getValue() != 0 ? "row-remap-pending" : "ok";
  }

  private @Nullable Long errors(long card, int kind) {
    return longNumber(
            count -> library.nvmlDeviceGetTotalEccErrors(card, kind, ECC_SINCE_START, count))
        .orElse(null);
  }

  private Optional<String> uuid(long handle) {
    return text(uuid -> library.nvmlDeviceGetUUID(handle, uuid, TEXT_BYTES));
  }

  /** Returns the unsigned int that a function writes; empty if it fails. */
  private Optional<Integer> number(ToIntFunction<IntByReference> function) {
    return function.applyAsInt(number) == LibNvml.SUCCESS
        ? Optional.of(number.getValue())
        : Optional.empty();
  }

  /** Returns the word that a function writes; empty if it fails. */
  private Optional<Long> longNumber(ToIntFunction<LongByReference> function) {
    return function.applyAsInt(longNumber) == LibNvml.SUCCESS
        ? Optional.of(longNumber.getValue())
        : Optional.empty();
  }

  /** Returns the text that a function writes; empty if it fails, or the text is too long. */
  private static Optional<String> text(ToIntFunction<byte[]> function) {
    byte[] text = new byte[TEXT_BYTES];
    return function.applyAsInt(text) == LibNvml.SUCCESS && text[TEXT_BYTES - 1] == 0
        ? Optional.of(Native.toString(text, StandardCharsets.UTF_8))
        : Optional.empty();
  }
}
