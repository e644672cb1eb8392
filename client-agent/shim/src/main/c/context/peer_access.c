// SPDX-License-Identifier: Apache-2.0
// Devices of the session that reach each other's memory; whether they do is the server's to say.
#include "context/peer_access.h"

#include "ops.h"
#include "shim.h"
#include "transport/connection.h"
#include "transport/device_table.h"

enum { CAN_ACCESS = 0, FIRST_ATTRIBUTE = 1, NATIVE_ATOMICS = 3, LAST_ATTRIBUTE = 5 };

// CUatomicOperationCapability
enum {
  SIGNED = 1 << 0,
  UNSIGNED = 1 << 1,
  REDUCTION = 1 << 2,
  SCALAR_32 = 1 << 3,
  SCALAR_64 = 1 << 4,
};

/** The abilities of PTX's native atomics, by CUatomicOperation. */
static const uint8_t nativeAtomics[] = {
    SIGNED | UNSIGNED | REDUCTION | SCALAR_32 | SCALAR_64,  // integer add
    SIGNED | UNSIGNED | REDUCTION | SCALAR_32 | SCALAR_64,  // integer min
    SIGNED | UNSIGNED | REDUCTION | SCALAR_32 | SCALAR_64,  // integer max
    UNSIGNED | REDUCTION | SCALAR_32,                       // integer increment
    UNSIGNED | REDUCTION | SCALAR_32,                       // integer decrement
    UNSIGNED | REDUCTION | SCALAR_32 | SCALAR_64,           // and
    UNSIGNED | REDUCTION | SCALAR_32 | SCALAR_64,           // or
    UNSIGNED | REDUCTION | SCALAR_32 | SCALAR_64,           // xor
    UNSIGNED | SCALAR_32 | SCALAR_64,                       // exchange
    UNSIGNED | SCALAR_32 | SCALAR_64,                       // compare and swap
    SIGNED | REDUCTION | SCALAR_32 | SCALAR_64,             // float add
    0,                                                      // float min
    0,                                                      // float max
};

static CUresult ask(CUdevice device, CUdevice peer, int attribute, int *value) {
  int32_t answer = 0;
  if (device_connection(device) != device_connection(peer)) {
    *value = 0;  // kernels cannot reach another server's memory, but copies do
    return CUDA_SUCCESS;
  }
  CUresult result = op_peerAttribute(connection_no_context(device_connection(device)),
                                     device_ordinal(device), device_ordinal(peer), attribute, &answer);
  if (!result) *value = answer;
  return result;
}

CUresult shim_cuDeviceCanAccessPeer(int *canAccessPeer, CUdevice dev, CUdevice peerDev) {
  if (!device_find(dev) || !device_find(peerDev)) return CUDA_ERROR_INVALID_DEVICE;
  if (!canAccessPeer) return CUDA_ERROR_INVALID_VALUE;
  if (dev != peerDev) return ask(dev, peerDev, CAN_ACCESS, canAccessPeer);
  *canAccessPeer = 0;
  return CUDA_SUCCESS;
}

CUresult shim_cuDeviceGetP2PAttribute(int *value, CUdevice_P2PAttribute attrib, CUdevice srcDevice,
                                      CUdevice dstDevice) {
  if (!device_find(srcDevice) || !device_find(dstDevice) || srcDevice == dstDevice) {
    return CUDA_ERROR_INVALID_DEVICE;
  }
  if (!value || attrib < FIRST_ATTRIBUTE || attrib > LAST_ATTRIBUTE) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  return ask(srcDevice, dstDevice, attrib, value);
}

CUresult peer_find(CUcontext handle, struct context **context, struct context **peer) {
  CUresult result = context_current(context);
  if (result) return result;
  *peer = arena_find(&contexts, handle);
  if (!*peer || *peer == *context) return CUDA_ERROR_INVALID_CONTEXT;
  bool reachable = (*peer)->device != (*context)->device &&
                   connection_same((*peer)->number, (*context)->number);
  return reachable ? CUDA_SUCCESS : CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
}

CUresult shim_cuDeviceGetP2PAtomicCapabilities(unsigned int *capabilities,
                                               const CUatomicOperation *operations,
                                               unsigned int count, CUdevice srcDevice,
                                               CUdevice dstDevice) {
  int native = 0;
  if (!device_find(srcDevice) || !device_find(dstDevice)) return CUDA_ERROR_INVALID_DEVICE;
  if (!capabilities || !operations || !count || srcDevice == dstDevice) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  for (unsigned int i = 0; i < count; i++) {
    if (operations[i] < 0 || (size_t)operations[i] >= sizeof nativeAtomics) {
      return CUDA_ERROR_INVALID_VALUE;
    }
  }
  CUresult result = ask(srcDevice, dstDevice, NATIVE_ATOMICS, &native);
  if (result) return result;
  for (unsigned int i = 0; i < count; i++) {
    capabilities[i] = native ? nativeAtomics[operations[i]] : 0;
  }
  return CUDA_SUCCESS;
}
