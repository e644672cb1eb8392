// SPDX-License-Identifier: Apache-2.0
// Copies given many at a time. They are made in the order in which they are given, which a batch allows.
#include "memory/array.h"
#include "memory/memcpy3d.h"
#include "shim.h"

enum { ORDER_STREAM = 1, ORDER_ANY = 3, OPERAND_POINTER = 1, OPERAND_ARRAY = 2 };

static bool is_order(int order) { return order >= ORDER_STREAM && order <= ORDER_ANY; }

/** The legacy default stream takes no batches. */
static bool is_legacy(CUstream stream) { return stream == NULL || stream == CU_STREAM_LEGACY; }

static bool attributes_good(const CUmemcpyAttributes *attributes, const size_t *indexes,
                            size_t count, size_t copies) {
  if (!attributes || !indexes || !count || count > copies || indexes[0]) return false;
  for (size_t i = 0; i < count; i++) {
    bool ascending = i == 0 || (indexes[i] > indexes[i - 1] && indexes[i] < copies);
    if (!ascending || !is_order(attributes[i].srcAccessOrder)) return false;
  }
  return true;
}

CUresult shim_cuMemcpyBatchAsync_v2(CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes,
                                    size_t count, CUmemcpyAttributes *attrs, size_t *attrsIdxs,
                                    size_t numAttrs, CUstream hStream) {
  if (!dsts || !srcs || !sizes || !count || is_legacy(hStream) ||
      !attributes_good(attrs, attrsIdxs, numAttrs, count)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  CUresult result = CUDA_SUCCESS;
  for (size_t i = 0; i < count && !result; i++) {
    result = sizes[i] ? shim_cuMemcpyAsync(dsts[i], srcs[i], sizes[i], hStream)
                      : CUDA_ERROR_INVALID_VALUE;
  }
  return result;
}

static CUresult describe(const struct operand3d *operand, uint64_t elementBytes,
                         struct copy_operand *description) {
  if (operand->type == OPERAND_ARRAY) {
    *description = (struct copy_operand){.memoryType = CU_MEMORYTYPE_ARRAY,
                                        .array = operand->at.array.array,
                                        .x = operand->at.array.x * elementBytes,
                                        .y = operand->at.array.y,
                                        .z = operand->at.array.z};
    return CUDA_SUCCESS;
  }
  *description = (struct copy_operand){.memoryType = CU_MEMORYTYPE_UNIFIED,
                                      .host = (const void *)(uintptr_t)operand->at.memory.ptr,
                                      .device = operand->at.memory.ptr,
                                      .pitch = operand->at.memory.rowLength * elementBytes,
                                      .sliceRows = operand->at.memory.layerHeight};
  return operand->type == OPERAND_POINTER ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/** Lengths are counted in elements: those of the array, or bytes between memory and memory. */
static uint64_t element_bytes(const CUDA_MEMCPY3D_BATCH_OP *copy) {
  const struct operand3d *ends[] = {&copy->src, &copy->dst};
  for (int i = 0; i < 2; i++) {
    struct array *array =
        ends[i]->type == OPERAND_ARRAY ? array_find(ends[i]->at.array.array) : NULL;
    if (array) return array->elementBytes;
  }
  return 1;
}

CUresult shim_cuMemcpy3DBatchAsync_v2(size_t numOps, CUDA_MEMCPY3D_BATCH_OP *opList,
                                      unsigned long long flags, CUstream hStream) {
  if (!numOps || !opList || flags || is_legacy(hStream)) return CUDA_ERROR_INVALID_VALUE;
  CUresult result = CUDA_SUCCESS;
  for (size_t i = 0; i < numOps && !result; i++) {
    const CUDA_MEMCPY3D_BATCH_OP *copy = &opList[i];
    struct copy_operand from, to;
    uint64_t element = element_bytes(copy);
    struct copy_extent extent = {copy->width * element, copy->height, copy->depth};
    bool empty = !extent.width || !extent.height || !extent.depth;
    if (empty || !is_order(copy->srcAccessOrder)) return CUDA_ERROR_INVALID_VALUE;
    result = describe(&copy->src, element, &from);
    if (!result) result = describe(&copy->dst, element, &to);
    if (!result) result = copy3d(&from, &to, &extent, hStream, false);
  }
  return result;
}
