// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.ptx;

import java.util.Map;
import java.util.Optional;

/**
 * A function of CUDA's device runtime that kernels may call here, as the PTX declares it.
 *
 * @param method the method that does it: the CUDA name without {@code cuda} and without {@code
 *     _ptsz}
 * @param result {@link #INT} or {@link #LONG}
 * @param params a letter for each parameter
 * @param perThread whether stream 0 is the default stream of the calling thread, not of its block
 */
public record RuntimeFunction(String method, char result, String params, boolean perThread) {
  public static final char INT = 'i';
  public static final char LONG = 'l';

  /** A stream handle. */
  public static final char STREAM = 's';

  /** A {@code dim3}: three integers of 32 bits. */
  public static final char DIM3 = 'd';

  /** A {@code cudaExtent}: three integers of 64 bits. */
  public static final char EXTENT = 'e';

  /** A {@code cudaPitchedPtr}: four integers of 64 bits. */
  public static final char PITCHED = 'p';

  /** Waits for the launches of the calling block; cards have it below compute capability 9.0. */
  public static final String SYNCHRONIZE = "DeviceSynchronize";

  private static final String PREFIX = "cuda";

  /** What programs call unless they ask for the device runtime of CUDA 11 and before. */
  private static final String SECOND_PREFIX = "__cudaCDP2";

  private static final String PER_THREAD = "_ptsz";

  private static final Map<String, String> SIGNATURES =
      Map.ofEntries(
          Map.entry("DeviceGetAttribute", "i(lii)"),
          Map.entry("DeviceGetLimit", "i(li)"),
          Map.entry("DeviceGetCacheConfig", "i(l)"),
          Map.entry("DeviceGetSharedMemConfig", "i(l)"),
          Map.entry(SYNCHRONIZE, "i()"),
          Map.entry("GetLastError", "i()"),
          Map.entry("PeekAtLastError", "i()"),
          Map.entry("GetErrorString", "l(i)"),
          Map.entry("GetErrorName", "l(i)"),
          Map.entry("GetDeviceCount", "i(l)"),
          Map.entry("GetDevice", "i(l)"),
          Map.entry("RuntimeGetVersion", "i(l)"),
          Map.entry("StreamCreateWithFlags", "i(li)"),
          Map.entry("StreamDestroy", "i(l)"),
          Map.entry("StreamWaitEvent", "i(sli)"),
          Map.entry("EventCreateWithFlags", "i(li)"),
          Map.entry("EventRecord", "i(ls)"),
          Map.entry("EventRecordWithFlags", "i(lsi)"),
          Map.entry("EventDestroy", "i(l)"),
          Map.entry("FuncGetAttributes", "i(ll)"),
          Map.entry("Malloc", "i(ll)"),
          Map.entry("Free", "i(l)"),
          Map.entry("MemcpyAsync", "i(lllis)"),
          Map.entry("Memcpy2DAsync", "i(llllllis)"),
          Map.entry("Memcpy3DAsync", "i(ls)"),
          Map.entry("MemsetAsync", "i(lils)"),
          Map.entry("Memset2DAsync", "i(llills)"),
          Map.entry("Memset3DAsync", "i(pies)"),
          Map.entry("GetParameterBuffer", "l(ll)"),
          Map.entry("GetParameterBufferV2", "l(lddi)"),
          Map.entry("LaunchDevice", "i(llddis)"),
          Map.entry("LaunchDeviceV2", "i(ls)"),
          Map.entry("OccupancyMaxActiveBlocksPerMultiprocessor", "i(llil)"),
          Map.entry("OccupancyMaxActiveBlocksPerMultiprocessorWithFlags", "i(llili)"));

  /** The function of a name; empty if it is none of these. */
  public static Optional<RuntimeFunction> named(String name) {
    String prefix = name.startsWith(SECOND_PREFIX) ? SECOND_PREFIX : PREFIX;
    if (!name.startsWith(prefix)) {
      return Optional.empty();
    }
    boolean perThread = name.endsWith(PER_THREAD);
    int end = perThread ? name.length() - PER_THREAD.length() : name.length();
    String method = end < prefix.length() ? "" : name.substring(prefix.length(), end);
    String signature = SIGNATURES.get(method);
    if (signature == null || perThread && signature.indexOf(STREAM) < 0) {
      return Optional.empty();
    }
    String params = signature.substring(2, signature.length() - 1);
    return Optional.of(new RuntimeFunction(method, signature.charAt(0), params, perThread));
  }

  /** Bytes that a parameter or result takes. */
  public static int sizeBytes(char kind) {
    return pieces(kind) * pieceBytes(kind);
  }

  /** Integers that a parameter consists of. */
  public static int pieces(char kind) {
    return switch (kind) {
      case DIM3, EXTENT -> 3;
      case PITCHED -> 4;
      default -> 1;
    };
  }

  /** Length of each of these integers. */
  public static int pieceBytes(char kind) {
    return kind == INT || kind == DIM3 ? Integer.BYTES : Long.BYTES;
  }
}
