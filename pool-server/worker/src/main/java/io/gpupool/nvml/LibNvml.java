// SPDX-License-Identifier: Apache-2.0
package io.gpupool.nvml;

import com.sun.jna.InvocationMapper;
import com.sun.jna.Library;
import com.sun.jna.Native;
import com.sun.jna.NativeLibrary;
import com.sun.jna.Pointer;
import com.sun.jna.Structure;
import com.sun.jna.Structure.FieldOrder;
import com.sun.jna.ptr.IntByReference;
import com.sun.jna.ptr.LongByReference;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Method;
import java.nio.file.Path;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The functions of {@code libnvidia-ml.so.1} that are used here. Each answers an {@code
 * nvmlReturn_t}, which is {@link #FUNCTION_NOT_FOUND} for a function that the driver's library
 * lacks. Handles of devices and of sets of events are addresses. Any thread.
 */
interface LibNvml extends Library {
  int SUCCESS = 0;
  int TIMEOUT = 10;
  int FUNCTION_NOT_FOUND = 13;
  int GPU_IS_LOST = 15;

  /**
   * Opens the library.
   *
   * @param path a path, or a name for the dynamic linker
   * @throws UnsatisfiedLinkError if it cannot be opened
   */
  static LibNvml open(String path) {
    // JNA looks for a relative path in folders of its own.
    String name = path.contains("/") ? Path.of(path).toAbsolutePath().toString() : path;
    InvocationMapper orNotFound = LibNvml::handlerOfMissing;
    return Native.load(name, LibNvml.class, Map.of(OPTION_INVOCATION_MAPPER, orNotFound));
  }

  /** Returns a handler of a function that is missing; null for others, which JNA calls itself. */
  private static @Nullable InvocationHandler handlerOfMissing(
      NativeLibrary library, Method function) {
    try {
      library.getFunction(function.getName());
      return null;
    } catch (UnsatisfiedLinkError e) {
      return (proxy, method, arguments) -> FUNCTION_NOT_FOUND;
    }
  }

  int nvmlInit_v2();

  int nvmlSystemGetDriverVersion(byte[] version, int lengthBytes);

  int nvmlDeviceGetCount_v2(IntByReference count);

  int nvmlDeviceGetHandleByIndex_v2(int index, LongByReference device);

  int nvmlDeviceGetUUID(long device, byte[] uuid, int lengthBytes);

  int nvmlDeviceGetMigMode(long device, IntByReference current, IntByReference pending);

  int nvmlDeviceGetMaxMigDeviceCount(long device, IntByReference count);

  int nvmlDeviceGetMigDeviceHandleByIndex(long device, int index, LongByReference slice);

  int nvmlDeviceGetGpuInstanceId(long slice, IntByReference instance);

  int nvmlDeviceGetP2PStatus(long device, long other, int capability, IntByReference status);

  int nvmlDeviceGetMemoryInfo(long device, MemoryInfo memory);

  int nvmlDeviceGetUtilizationRates(long device, Utilization rates);

  int nvmlDeviceGetTemperature(long device, int sensor, IntByReference celsius);

  int nvmlDeviceGetPowerUsage(long device, IntByReference milliwatts);

  int nvmlDeviceGetEnforcedPowerLimit(long device, IntByReference milliwatts);

  int nvmlDeviceGetFanSpeed(long device, IntByReference percent);

  int nvmlDeviceGetPerformanceState(long device, IntByReference state);

  int nvmlDeviceGetClockInfo(long device, int type, IntByReference megahertz);

  int nvmlDeviceGetTotalEccErrors(long device, int kind, int counter, LongByReference errors);

  int nvmlDeviceGetRemappedRows(
      long device,
      IntByReference corrected,
      IntByReference uncorrected,
      IntByReference isPending,
      IntByReference failed);

  /** Writes up to {@code count} of {@link ProcessInfo}, and to {@code count} how many. */
  int nvmlDeviceGetComputeRunningProcesses_v3(long device, IntByReference count, Pointer infos);

  int nvmlDeviceGetSupportedEventTypes(long device, LongByReference types);

  int nvmlDeviceRegisterEvents(long device, long types, long set);

  int nvmlEventSetCreate(LongByReference set);

  int nvmlEventSetWait_v2(long set, EventData event, int timeoutMillis);

  /** {@code nvmlMemory_t}. */
  @FieldOrder({"totalBytes", "freeBytes", "usedBytes"})
  final class MemoryInfo extends Structure {
    public long totalBytes;
    public long freeBytes;
    public long usedBytes;
  }

  /** {@code nvmlUtilization_t}. */
  @FieldOrder({"gpuPercent", "memoryPercent"})
  final class Utilization extends Structure {
    public int gpuPercent;
    public int memoryPercent;
  }

  /** {@code nvmlProcessInfo_t}. */
  @FieldOrder({"pid", "usedBytes", "gpuInstance", "computeInstance"})
  final class ProcessInfo extends Structure {
    static final int BYTES = 24;

    public int pid;
    public long usedBytes;
    public int gpuInstance;
    public int computeInstance;

    ProcessInfo(Pointer address) {
      super(address);
      read();
    }
  }

  /** {@code nvmlEventData_t}. */
  @FieldOrder({"device", "type", "data", "gpuInstance", "computeInstance"})
  final class EventData extends Structure {
    public long device;
    public long type;
    public long data;
    public int gpuInstance;
    public int computeInstance;
  }
}
