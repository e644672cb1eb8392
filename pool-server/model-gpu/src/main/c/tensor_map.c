// SPDX-License-Identifier: Apache-2.0
// Tensor maps, which no kernel reads: they hold what they were made of, the address first.
#include "driver.h"

enum { MAX_RANK = 5, MAP_ALIGNMENT = 64, ADDRESS_ALIGNMENT = 16 };

static CUresult encode(uint64_t *map, int type, uint32_t rank, uint64_t address, const uint64_t *extents) {
  bool good = (uintptr_t)map % MAP_ALIGNMENT == 0 && rank && rank <= MAX_RANK && address % ADDRESS_ALIGNMENT == 0;
  if (!good) return CUDA_ERROR_INVALID_VALUE;
  map[0] = address;
  map[1] = (uint64_t)type << 32 | rank;
  for (uint32_t i = 0; i < rank; i++) map[2 + i] = extents[i];
  return CUDA_SUCCESS;
}

API CUresult cuTensorMapEncodeTiled(uint64_t *map, int type, uint32_t rank, uint64_t address, const uint64_t *extents,
                                    const uint64_t *strides, const uint32_t *box, const uint32_t *steps,
                                    int interleave, int swizzle, int promotion, int fill) {
  (void)strides; (void)box; (void)steps; (void)interleave; (void)swizzle; (void)promotion; (void)fill;
  return encode(map, type, rank, address, extents);
}

API CUresult cuTensorMapEncodeIm2col(uint64_t *map, int type, uint32_t rank, uint64_t address,
                                     const uint64_t *extents, const uint64_t *strides, const int *lower,
                                     const int *upper, uint32_t channels, uint32_t pixels, const uint32_t *steps,
                                     int interleave, int swizzle, int promotion, int fill) {
  (void)strides; (void)lower; (void)upper; (void)channels; (void)pixels; (void)steps; (void)interleave;
  (void)swizzle; (void)promotion; (void)fill;
  return rank < 3 ? CUDA_ERROR_INVALID_VALUE : encode(map, type, rank, address, extents);
}

API CUresult cuTensorMapReplaceAddress(uint64_t *map, uint64_t address) {
  if (address % ADDRESS_ALIGNMENT) return CUDA_ERROR_INVALID_VALUE;
  map[0] = address;
  return CUDA_SUCCESS;
}
