// SPDX-License-Identifier: Apache-2.0
// Entry points from before CUDA 3.2 that give out 32-bit addresses and sizes. They answer CUDA_ERROR_NOT_SUPPORTED
// where an address does not fit, as on today's devices none does. Those that only take some are in the contract.
#include "shim.h"

static CUresult give_narrow(CUresult result, CUdeviceptr address, CUdeviceptr_v1 *narrow) {
  if (result) return result;
  if (address > UINT32_MAX) return CUDA_ERROR_NOT_SUPPORTED;
  *narrow = (CUdeviceptr_v1)address;
  return CUDA_SUCCESS;
}

/** Does the same for memory that was allocated for the caller; frees it if its address is too wide. */
static CUresult give_allocated(CUresult result, CUdeviceptr address, CUdeviceptr_v1 *narrow) {
  if (!result && address > UINT32_MAX) shim_cuMemFree_v2(address);
  return give_narrow(result, address, narrow);
}

static unsigned int clamp(size_t value) {
  return value > UINT32_MAX ? UINT32_MAX : (unsigned int)value;
}

CUresult shim_cuMemAlloc(CUdeviceptr_v1 *dptr, unsigned int bytesize) {
  CUdeviceptr address = 0;
  if (!dptr) return CUDA_ERROR_INVALID_VALUE;
  return give_allocated(shim_cuMemAlloc_v2(&address, bytesize), address, dptr);
}

CUresult shim_cuMemAllocPitch(CUdeviceptr_v1 *dptr, unsigned int *pPitch, unsigned int WidthInBytes,
                              unsigned int Height, unsigned int ElementSizeBytes) {
  CUdeviceptr address = 0;
  size_t pitch = 0;
  if (!dptr || !pPitch) return CUDA_ERROR_INVALID_VALUE;
  CUresult result =
      shim_cuMemAllocPitch_v2(&address, &pitch, WidthInBytes, Height, ElementSizeBytes);
  *pPitch = (unsigned int)pitch;
  return give_allocated(result, address, dptr);
}

CUresult shim_cuMemGetInfo(unsigned int *free, unsigned int *total) {
  size_t freeBytes, totalBytes;
  if (!free || !total) return CUDA_ERROR_INVALID_VALUE;
  CUresult result = shim_cuMemGetInfo_v2(&freeBytes, &totalBytes);
  if (result) return result;
  *free = clamp(freeBytes);
  *total = clamp(totalBytes);
  return CUDA_SUCCESS;
}

CUresult shim_cuMemGetAddressRange(CUdeviceptr_v1 *pbase, unsigned int *psize,
                                   CUdeviceptr_v1 dptr) {
  CUdeviceptr base = 0;
  CUdeviceptr_v1 narrow = 0;
  size_t size = 0;
  CUresult result =
      give_narrow(shim_cuMemGetAddressRange_v2(&base, &size, dptr), base, &narrow);
  if (result) return result;
  if (pbase) *pbase = narrow;
  if (psize) *psize = clamp(size);
  return CUDA_SUCCESS;
}

CUresult shim_cuModuleGetGlobal(CUdeviceptr_v1 *dptr, unsigned int *bytes, CUmodule hmod,
                                const char *name) {
  CUdeviceptr address = 0;
  CUdeviceptr_v1 narrow = 0;
  size_t size = 0;
  if (!dptr && !bytes) return CUDA_ERROR_INVALID_VALUE;
  CUresult result = shim_cuModuleGetGlobal_v2(&address, &size, hmod, name);
  if (dptr) result = give_narrow(result, address, &narrow);
  if (result) return result;
  if (dptr) *dptr = narrow;
  if (bytes) *bytes = clamp(size);
  return CUDA_SUCCESS;
}

CUresult shim_cuTexRefSetAddress(unsigned int *ByteOffset, CUtexref hTexRef, CUdeviceptr_v1 dptr,
                                 unsigned int bytes) {
  size_t offset = 0;
  CUresult result = shim_cuTexRefSetAddress_v2(ByteOffset ? &offset : NULL, hTexRef, dptr, bytes);
  if (!result && ByteOffset) *ByteOffset = (unsigned int)offset;
  return result;
}

CUresult shim_cuTexRefSetAddress2D(CUtexref hTexRef, const CUDA_ARRAY_DESCRIPTOR_v1 *desc,
                                   CUdeviceptr_v1 dptr, unsigned int Pitch) {
  if (!desc) return CUDA_ERROR_INVALID_VALUE;
  CUDA_ARRAY_DESCRIPTOR wide = {desc->Width, desc->Height, desc->Format, desc->NumChannels};
  return shim_cuTexRefSetAddress2D_v3(hTexRef, &wide, dptr, Pitch);
}

CUresult shim_cuTexRefGetAddress(CUdeviceptr_v1 *pdptr, CUtexref hTexRef) {
  CUdeviceptr address = 0;
  if (!pdptr) return CUDA_ERROR_INVALID_VALUE;
  CUresult result = shim_cuTexRefGetAddress_v2(&address, hTexRef);
  return give_narrow(result, address, pdptr);
}
