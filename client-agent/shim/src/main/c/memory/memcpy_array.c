// SPDX-License-Identifier: Apache-2.0
// Copies of a run of bytes from and to one-dimensional arrays; of others, their first row.
#include "memory/memcpy3d.h"
#include "shim.h"

static struct copy_operand in_array(CUarray array, size_t offset) {
  return (struct copy_operand){.memoryType = CU_MEMORYTYPE_ARRAY, .array = array, .x = offset};
}

static struct copy_operand on_host(const void *host) {
  return (struct copy_operand){.memoryType = CU_MEMORYTYPE_HOST, .host = host};
}

static struct copy_operand on_device(CUdeviceptr device) {
  return (struct copy_operand){.memoryType = CU_MEMORYTYPE_DEVICE, .device = device};
}

static CUresult copy_run(struct copy_operand to, struct copy_operand from, size_t bytes,
                         CUstream stream, bool wait) {
  struct copy_extent extent = {bytes, 1, 1};
  return copy3d(&from, &to, &extent, stream, wait);
}

CUresult shim_cuMemcpyDtoA_v2(CUarray dstArray, size_t dstOffset, CUdeviceptr srcDevice,
                              size_t ByteCount, CUstream implied) {
  return copy_run(in_array(dstArray, dstOffset), on_device(srcDevice), ByteCount, implied, true);
}

CUresult shim_cuMemcpyAtoD_v2(CUdeviceptr dstDevice, CUarray srcArray, size_t srcOffset,
                              size_t ByteCount, CUstream implied) {
  return copy_run(on_device(dstDevice), in_array(srcArray, srcOffset), ByteCount, implied, true);
}

CUresult shim_cuMemcpyHtoA_v2(CUarray dstArray, size_t dstOffset, const void *srcHost,
                              size_t ByteCount, CUstream implied) {
  return copy_run(in_array(dstArray, dstOffset), on_host(srcHost), ByteCount, implied, true);
}

CUresult shim_cuMemcpyAtoH_v2(void *dstHost, CUarray srcArray, size_t srcOffset, size_t ByteCount,
                              CUstream implied) {
  return copy_run(on_host(dstHost), in_array(srcArray, srcOffset), ByteCount, implied, true);
}

CUresult shim_cuMemcpyAtoA_v2(CUarray dstArray, size_t dstOffset, CUarray srcArray,
                              size_t srcOffset, size_t ByteCount, CUstream implied) {
  return copy_run(in_array(dstArray, dstOffset), in_array(srcArray, srcOffset), ByteCount, implied,
                  true);
}

CUresult shim_cuMemcpyHtoAAsync_v2(CUarray dstArray, size_t dstOffset, const void *srcHost,
                                   size_t ByteCount, CUstream hStream) {
  return copy_run(in_array(dstArray, dstOffset), on_host(srcHost), ByteCount, hStream, false);
}

CUresult shim_cuMemcpyAtoHAsync_v2(void *dstHost, CUarray srcArray, size_t srcOffset,
                                   size_t ByteCount, CUstream hStream) {
  return copy_run(on_host(dstHost), in_array(srcArray, srcOffset), ByteCount, hStream, false);
}
