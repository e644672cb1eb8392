// SPDX-License-Identifier: Apache-2.0
// Tensor maps: 128 bytes that the server's driver makes, and that kernels get by value. They hold an
// address of the server, which is the program's own.
#include "context/context.h"
#include "ops.h"
#include "shim.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_RANK = 5, MAP_ALIGNMENT = 64 };

static bool is_map(const CUtensorMap *map) { return map && (uintptr_t)map % MAP_ALIGNMENT == 0; }

/** Takes a map out of an answer. */
static CUresult take(CUresult result, CUtensorMap *map, const struct variable *answer, void *payload) {
  if (!result && answer->length != CUtensorMap_BYTES) result = CUDA_ERROR_UNKNOWN;
  if (!result) memcpy(map, answer->data, CUtensorMap_BYTES);
  free(payload);
  return result;
}

/** Copies what all kinds have, and has the map made; those of im2col have no box. */
static CUresult encode(CUtensorMap *map, struct tensor_request *tensor, const void *address,
                       const cuuint64_t *dims, const cuuint64_t *strides, const uint32_t *box,
                       const uint32_t *elementStrides) {
  uint32_t rank = tensor->rank, least = tensor->kind == TENSOR_TILED ? 1 : 3;
  if (!is_map(map) || rank < least || rank > MAX_RANK || !dims || !elementStrides ||
      (!strides && rank > 1) || (!box && tensor->kind == TENSOR_TILED)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  tensor->address = (uint64_t)(uintptr_t)address;
  memcpy(tensor->dims, dims, rank * sizeof *dims);
  if (rank > 1) memcpy(tensor->strides, strides, (rank - 1) * sizeof *strides);
  if (box) memcpy(tensor->box, box, rank * sizeof *box);
  memcpy(tensor->elementStrides, elementStrides, rank * sizeof *elementStrides);
  struct context *context;
  CUresult result = context_current(&context);
  if (result) return result;
  struct variable answer = {.capacity = CUtensorMap_BYTES};
  void *payload = NULL;
  result = op_tensorMapEncode(context->number, tensor, sizeof *tensor, &answer, &payload);
  return take(context_result(context, result), map, &answer, payload);
}

CUresult shim_cuTensorMapEncodeTiled(CUtensorMap *tensorMap, CUtensorMapDataType tensorDataType,
                                     cuuint32_t tensorRank, void *globalAddress, const cuuint64_t *globalDim,
                                     const cuuint64_t *globalStrides, const cuuint32_t *boxDim,
                                     const cuuint32_t *elementStrides, CUtensorMapInterleave interleave,
                                     CUtensorMapSwizzle swizzle, CUtensorMapL2promotion l2Promotion,
                                     CUtensorMapFloatOOBfill oobFill) {
  struct tensor_request tensor = {.kind = TENSOR_TILED,
                          .type = (uint32_t)tensorDataType,
                          .rank = tensorRank,
                          .interleave = (uint32_t)interleave,
                          .swizzle = (uint32_t)swizzle,
                          .l2Promotion = (uint32_t)l2Promotion,
                          .oobFill = (uint32_t)oobFill};
  return encode(tensorMap, &tensor, globalAddress, globalDim, globalStrides, boxDim, elementStrides);
}

CUresult shim_cuTensorMapEncodeIm2col(CUtensorMap *tensorMap, CUtensorMapDataType tensorDataType,
                                      cuuint32_t tensorRank, void *globalAddress, const cuuint64_t *globalDim,
                                      const cuuint64_t *globalStrides, const int *pixelBoxLowerCorner,
                                      const int *pixelBoxUpperCorner, cuuint32_t channelsPerPixel,
                                      cuuint32_t pixelsPerColumn, const cuuint32_t *elementStrides,
                                      CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                                      CUtensorMapL2promotion l2Promotion, CUtensorMapFloatOOBfill oobFill) {
  struct tensor_request tensor = {.kind = TENSOR_IM2COL,
                          .type = (uint32_t)tensorDataType,
                          .rank = tensorRank,
                          .interleave = (uint32_t)interleave,
                          .swizzle = (uint32_t)swizzle,
                          .l2Promotion = (uint32_t)l2Promotion,
                          .oobFill = (uint32_t)oobFill,
                          .channels = channelsPerPixel,
                          .pixels = pixelsPerColumn};
  if (!pixelBoxLowerCorner || !pixelBoxUpperCorner || tensorRank < 3 || tensorRank > MAX_RANK) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  memcpy(tensor.lowerCorner, pixelBoxLowerCorner, (tensorRank - 2) * sizeof(int));
  memcpy(tensor.upperCorner, pixelBoxUpperCorner, (tensorRank - 2) * sizeof(int));
  return encode(tensorMap, &tensor, globalAddress, globalDim, globalStrides, NULL, elementStrides);
}

CUresult shim_cuTensorMapEncodeIm2colWide(CUtensorMap *tensorMap, CUtensorMapDataType tensorDataType,
                                          cuuint32_t tensorRank, void *globalAddress,
                                          const cuuint64_t *globalDim, const cuuint64_t *globalStrides,
                                          int pixelBoxLowerCornerWidth, int pixelBoxUpperCornerWidth,
                                          cuuint32_t channelsPerPixel, cuuint32_t pixelsPerColumn,
                                          const cuuint32_t *elementStrides, CUtensorMapInterleave interleave,
                                          CUtensorMapIm2ColWideMode mode, CUtensorMapSwizzle swizzle,
                                          CUtensorMapL2promotion l2Promotion,
                                          CUtensorMapFloatOOBfill oobFill) {
  struct tensor_request tensor = {.kind = TENSOR_IM2COL_WIDE,
                          .type = (uint32_t)tensorDataType,
                          .rank = tensorRank,
                          .interleave = (uint32_t)interleave,
                          .swizzle = (uint32_t)swizzle,
                          .l2Promotion = (uint32_t)l2Promotion,
                          .oobFill = (uint32_t)oobFill,
                          .mode = (uint32_t)mode,
                          .lowerCorner = {pixelBoxLowerCornerWidth},
                          .upperCorner = {pixelBoxUpperCornerWidth},
                          .channels = channelsPerPixel,
                          .pixels = pixelsPerColumn};
  return encode(tensorMap, &tensor, globalAddress, globalDim, globalStrides, NULL, elementStrides);
}

CUresult shim_cuTensorMapReplaceAddress(CUtensorMap *tensorMap, void *globalAddress) {
  if (!is_map(tensorMap)) return CUDA_ERROR_INVALID_VALUE;
  struct context *context;
  CUresult result = context_current(&context);
  if (result) return result;
  struct variable answer = {.capacity = CUtensorMap_BYTES};
  void *payload = NULL;
  result = op_tensorMapReplace(context->number, tensorMap, CUtensorMap_BYTES,
                               (uint64_t)(uintptr_t)globalAddress, &answer, &payload);
  return take(context_result(context, result), tensorMap, &answer, payload);
}
