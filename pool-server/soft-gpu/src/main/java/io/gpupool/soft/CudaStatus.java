// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft;

/** The result codes of the CUDA driver API (CUresult) that this GPU gives. */
public enum CudaStatus {
  SUCCESS(0),
  INVALID_VALUE(1),
  OUT_OF_MEMORY(2),
  DEINITIALIZED(4),
  NO_DEVICE(100),
  INVALID_DEVICE(101),
  INVALID_IMAGE(200),
  INVALID_CONTEXT(201),
  NO_BINARY_FOR_GPU(209),
  UNSUPPORTED_LIMIT(215),
  PEER_ACCESS_UNSUPPORTED(217),
  INVALID_PTX(218),
  UNSUPPORTED_PTX_VERSION(222),
  UNSUPPORTED_DEVSIDE_SYNC(225),
  INVALID_SOURCE(300),
  SHARED_OBJECT_SYMBOL_NOT_FOUND(302),
  INVALID_HANDLE(400),
  NOT_FOUND(500),
  NOT_READY(600),
  ILLEGAL_ADDRESS(700),
  LAUNCH_OUT_OF_RESOURCES(701),
  LAUNCH_TIMEOUT(702),
  PEER_ACCESS_ALREADY_ENABLED(704),
  PEER_ACCESS_NOT_ENABLED(705),
  CONTEXT_IS_DESTROYED(709),
  ASSERT(710),
  HARDWARE_STACK_ERROR(714),
  ILLEGAL_INSTRUCTION(715),
  MISALIGNED_ADDRESS(716),
  INVALID_ADDRESS_SPACE(717),
  INVALID_PC(718),
  LAUNCH_FAILED(719),
  COOPERATIVE_LAUNCH_TOO_LARGE(720),
  NOT_PERMITTED(800),
  NOT_SUPPORTED(801),
  INVALID_CLUSTER_SIZE(912),
  INVALID_RESOURCE_TYPE(914),
  INVALID_RESOURCE_CONFIGURATION(915),
  UNKNOWN(999);

  private final int code;

  CudaStatus(int code) {
    this.code = code;
  }

  /** The CUresult value. */
  public int code() {
    return code;
  }

  /** The status of a CUresult value; {@link #UNKNOWN} for one that is not listed here. */
  public static CudaStatus of(int code) {
    for (CudaStatus status : values()) {
      if (status.code == code) {
        return status;
      }
    }
    return UNKNOWN;
  }
}
