// SPDX-License-Identifier: Apache-2.0
// Memory and events of other processes, by handles of 64 bytes that anybody may copy.
#include "memory.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { HANDLE_BYTES = 64, MAX_RUNS = 5 };

/**
 * Blocks that follow each other; an allocation of more runs than there is room for cannot be shared. A small one is in
 * the block that it has with others, which the other process has then as well, as with a driver.
 */
struct memory_handle {
  uint32_t device, runs;
  uint64_t bytes, offset;
  struct {
    uint32_t first, count;
  } run[MAX_RUNS];
};

_Static_assert(sizeof(struct memory_handle) <= HANDLE_BYTES, "a handle has 64 bytes");

API CUresult cuIpcGetMemHandle(void *handle, CUdeviceptr address) {
  struct context *context;
  CUresult result = api_begin(&context);
  struct allocation *allocation = result ? NULL : memory_find(address);
  const struct blocks *blocks = allocation ? memory_blocks(allocation) : NULL;
  if (!result && !blocks) result = CUDA_ERROR_INVALID_VALUE;
  if (result) return api_end(result);
  struct memory_handle out = {
      .device = allocation->device, .bytes = allocation->bytes, .offset = allocation->address % BLOCK_BYTES};
  for (uint32_t i = 0; i < blocks->count; i++) {
    bool follows = out.runs && out.run[out.runs - 1].first + out.run[out.runs - 1].count == blocks->numbers[i];
    if (follows) {
      out.run[out.runs - 1].count++;
    } else if (out.runs == MAX_RUNS) {
      return api_end(CUDA_ERROR_OUT_OF_MEMORY);
    } else {
      out.run[out.runs].first = blocks->numbers[i];
      out.run[out.runs++].count = 1;
    }
  }
  memset(handle, 0, HANDLE_BYTES);
  memcpy(handle, &out, sizeof out);
  return api_end(CUDA_SUCCESS);
}

struct handle_bytes {
  char bytes[HANDLE_BYTES];
};

API CUresult cuIpcOpenMemHandle_v2(CUdeviceptr *out, struct handle_bytes bytes, unsigned flags) {
  struct memory_handle handle;
  struct context *context;
  memcpy(&handle, bytes.bytes, sizeof handle);
  CUresult result = api_begin(&context);
  bool good = flags <= 1 && handle.runs && handle.runs <= MAX_RUNS && handle.device < options.gpus &&
              handle.offset < BLOCK_BYTES;
  if (!result && !good) result = CUDA_ERROR_INVALID_VALUE;
  if (!result && !gpus[handle.device].card) result = CUDA_ERROR_INVALID_CONTEXT;
  if (result) return api_end(result);
  uint32_t count = 0;
  for (uint32_t i = 0; i < handle.runs; i++) count += handle.run[i].count;
  struct blocks blocks = {.device = handle.device, .count = count, .numbers = calloc(count + 1, sizeof(uint32_t))};
  for (uint32_t i = 0, at = 0; i < handle.runs; i++) {
    for (uint32_t n = 0; n < handle.run[i].count; n++) blocks.numbers[at++] = handle.run[i].first + n;
  }
  CUdeviceptr address = addresses_take((uint64_t)count * BLOCK_BYTES, 0);
  bool mapped = address && blocks_map(&blocks, 0, count, address, PROT_READ | PROT_WRITE);
  free(blocks.numbers);
  if (!mapped) return api_end(CUDA_ERROR_OUT_OF_MEMORY);
  *out = address + handle.offset;
  memory_note(handle.device, *out, handle.bytes, ORIGIN_OPENED)->blocks.count = count;
  return api_end(CUDA_SUCCESS);
}

API CUresult cuIpcCloseMemHandle(CUdeviceptr address) {
  struct context *context;
  CUresult result = api_begin(&context);
  struct allocation *allocation = result ? NULL : memory_find(address);
  bool good = allocation && allocation->origin == ORIGIN_OPENED && allocation->address == address;
  if (!result && !good) result = CUDA_ERROR_INVALID_VALUE;
  if (!result) {
    addresses_give(address - address % BLOCK_BYTES, (uint64_t)allocation->blocks.count * BLOCK_BYTES);
    memory_forget(allocation);
  }
  return api_end(result);
}

API CUresult cuIpcGetEventHandle(void *handle, void *event) {
  (void)handle; (void)event;
  return CUDA_ERROR_NOT_SUPPORTED;
}

API CUresult cuIpcOpenEventHandle(void **out, struct handle_bytes handle) {
  (void)out; (void)handle;
  return CUDA_ERROR_NOT_SUPPORTED;
}
