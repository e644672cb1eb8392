// SPDX-License-Identifier: Apache-2.0
// Default replies of the test peer to ops for which a test has no handler of its own.
#pragma once

#include "peer_shared.h"
#include "peer_wire.h"

/** The payload of moduleLoad: what is wanted of two empty logs and "store", "spin" and "empty". */
static inline void peer_module(struct peer_session *session, const struct frame *frame) {
  static const struct {
    char name[8];
    uint32_t count, parameters[8];
  } functions[] = {
      {"store", 2, {0, 8, 8, 4}}, {"spin", 4, {0, 8, 8, 8, 16, 8, 24, 4}}, {"empty", 0, {0}}};
  uint8_t payload[512] = {0}, list[400] = {0};
  uint64_t listBytes = 0;
  uint32_t used = 0;
  for (size_t i = 0; i < 3; i++) {
    uint32_t head[2] = {(uint32_t)strlen(functions[i].name), functions[i].count};
    uint8_t *at = list + listBytes;
    memcpy(at, head, 8);
    memcpy(at + 8, functions[i].name, 8);
    memcpy(at + 16, functions[i].parameters, functions[i].count * 8);
    listBytes += 16 + functions[i].count * 8;
  }
  for (int log = 4; log <= 5; log++) used += frame->slot[log] ? 8 : 0;
  if (frame->slot[6]) {
    memcpy(payload + used, &listBytes, 8);
    memcpy(payload + used + 8, list, listBytes);
    used += 8 + (uint32_t)listBytes;
  }
  peer_reply(session, frame, 0, payload, used);
}

static inline void peer_launch(struct peer_session *session, const struct frame *frame) {
  const uint32_t *word = (const uint32_t *)frame->slot;
  session->launches++;
  if (word[0] >= PEER_MAX_FUNCTIONS || session->functions[word[0]] != 's') return;
  const uint8_t *parameters = (const uint8_t *)frame + 56 + word[11] * 72;
  uint64_t address;
  memcpy(&address, parameters, 8);
  memcpy(peer_host(address), parameters + 8, 4);
}

/** A box in memory to or from bytes one row after the other; slot: the box's side, from its address. */
static inline void peer_box(const uint64_t *slot, uint8_t *tight, bool write) {
  uint64_t pitch = slot[4], rows = slot[5], width = slot[6], height = slot[7], depth = slot[8];
  for (uint64_t z = 0; z < depth; z++) {
    for (uint64_t y = 0; y < height; y++, tight += width) {
      uint8_t *row = (uint8_t *)peer_host(slot[0]) + (z * rows + y) * pitch;
      memcpy(write ? row : tight, write ? tight : row, width);
    }
  }
}

/** Page-locked memory that is mapped here, too, by region. */
static struct {
  uint8_t *memory;
  uint64_t bytes;
} peerRegions[SHARED_HOST_REGIONS];

/** The number of copies that named a place in such memory. */
static _Atomic int peerSharedCopies;

/** Does an op on page-locked memory that is shared. Returns whether it is such an op. */
static inline bool peer_host_memory_op(struct peer_session *session, const struct frame *frame) {
  const uint64_t *slot = frame->slot;
  switch (frame->op) {
    case OP_hostShare: {
      int file = atomic_exchange(&peerDescriptor, -1);
      if (file >= 0) {
        peerRegions[slot[1]].memory = mmap(NULL, slot[2], PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        peerRegions[slot[1]].bytes = slot[2];
        close(file);
      }
      peer_reply(session, frame, file < 0 ? 801 : 0, NULL, 0);
      break;
    }
    case OP_hostUnshare:
      munmap(peerRegions[slot[0]].memory, peerRegions[slot[0]].bytes);
      break;
    case OP_hostToDevice:
      memcpy(peer_host(slot[0]), peerRegions[slot[1]].memory + slot[2], slot[3]);
      atomic_fetch_add(&peerSharedCopies, 1);
      break;
    case OP_deviceToHost:
      memcpy(peerRegions[slot[0]].memory + slot[1], peer_host(slot[2]), slot[3]);
      atomic_fetch_add(&peerSharedCopies, 1);
      break;
    default:
      return false;
  }
  return true;
}

/** Does an op on memory. Returns whether it is such an op. */
static inline bool peer_memory_op(struct peer_session *session, const struct frame *frame) {
  const uint64_t *slot = frame->slot;
  switch (frame->op) {
    case OP_memAlloc:
    case OP_memAllocAsync: {
      uint64_t address = peer_given(malloc(slot[1]));
      peer_reply(session, frame, 0, &address, 8);
      break;
    }
    case OP_memAllocPitch: {
      uint64_t pitch = (slot[1] + 511) & ~511ull;
      uint64_t out[2] = {peer_given(malloc(pitch * slot[2])), pitch};
      peer_reply(session, frame, 0, out, 16);
      break;
    }
    case OP_memFree:
    case OP_memFreeAsync:
      free(peer_host(slot[0]));
      break;
    case OP_memGetInfo: {
      uint64_t out[2] = {1ull << 29, 1ull << 30};
      peer_reply(session, frame, 0, out, 16);
      break;
    }
    case OP_memcpyHtoD:
      memcpy(peer_host(slot[0]), slot + 3, slot[2]);
      break;
    case OP_memcpyDtoH:
      peer_data(session, (uint32_t)slot[0], peer_host(slot[1]), slot[2]);
      break;
    case OP_memcpyDtoHPosted:
      peer_data(session, (uint32_t)slot[0], peer_host(slot[1]), slot[2]);
      break;
    case OP_write3D:
      peer_box(slot + 1, (uint8_t *)(uintptr_t)(slot + 12), true);
      break;
    case OP_read3D: {
      uint64_t bytes = slot[8] * slot[9] * slot[10];
      uint8_t *tight = malloc(bytes);
      peer_box(slot + 2, tight, false);
      peer_data(session, (uint32_t)slot[0], tight, bytes);
      free(tight);
      break;
    }
    case OP_cuMemcpyDtoDAsync_v2:
      memmove(peer_host(slot[0]), peer_host(slot[1]), slot[2]);
      break;
    case OP_cuMemsetD8Async:
      memset(peer_host(slot[0]), (int)slot[1], slot[2]);
      break;
    case OP_cuMemsetD32Async:
      for (uint64_t i = 0; i < slot[2]; i++) ((uint32_t *)peer_host(slot[0]))[i] = (uint32_t)slot[1];
      break;
    default:
      return false;
  }
  return true;
}

/** Does an op on modules and their functions. Returns whether it is such an op. */
static inline bool peer_module_op(struct peer_session *session, const struct frame *frame) {
  const uint64_t *slot = frame->slot;
  switch (frame->op) {
    case OP_moduleLoad:
      peer_module(session, frame);
      break;
    case OP_moduleBindFunction:
      if (slot[1] < PEER_MAX_FUNCTIONS) {
        bool store = slot[2] == 5 && memcmp(slot + 3, "store", 5) == 0;
        session->functions[slot[1]] = store ? 's' : 'n';
      }
      break;
    case OP_moduleGetGlobal: {
      static uint8_t global[4096];
      uint64_t out[2] = {peer_given(global), sizeof global};
      peer_reply(session, frame, 0, out, 16);
      break;
    }
    case OP_functionGetAttributes: {
      enum { ATTRIBUTES = 17 };
      uint64_t out[1 + ATTRIBUTES] = {8 * ATTRIBUTES, (uint64_t)1024 << 32};  // a length, then results and values
      peer_reply(session, frame, 0, out, sizeof out);
      break;
    }
    case OP_launch:
      peer_launch(session, frame);
      break;
    case OP_moduleGetFunction:
      peer_reply(session, frame, 500, NULL, 0);
      break;
    default:
      return false;
  }
  return true;
}

/** Answers an op that does nothing here. */
static inline void peer_plain_op(struct peer_session *session, const struct frame *frame) {
  const uint64_t *slot = frame->slot;
  uint64_t none[4] = {0};
  switch (frame->op) {
    case OP_streamHostFunction:
      peer_answer(session, ANSWER_CALLBACK, (uint32_t)slot[1], 0, NULL, 0);
      break;
    case OP_functionBlocks:
      none[0] = 2048 / (slot[2] ? slot[2] : 1);
      peer_reply(session, frame, 0, none, 8);
      break;
    case OP_ctxRetainPrimary:
    case OP_ctxResetPrimary:
    case OP_ctxCreate:
    case OP_ctxSynchronize:
    case OP_ctxSetLimit:
    case OP_ctxGetLimit:
    case OP_poolGetAttribute:
    case OP_streamQuery:
    case OP_streamSynchronize:
    case OP_eventQuery:
    case OP_eventSynchronize:
    case OP_cuOccupancyAvailableDynamicSMemPerBlock:
    case OP_cuMemPoolTrimTo:
    case OP_cuEventElapsedTime:
    case OP_cuEventElapsedTime_v2:
      peer_reply(session, frame, 0, none, 8);
      break;
    default:
      break;  // posted, and nothing to see
  }
}

/** Does what an op wants. */
static inline void peer_default(struct peer_session *session, const struct frame *frame) {
  if (peer_memory_op(session, frame) || peer_host_memory_op(session, frame) || peer_module_op(session, frame)) return;
  peer_plain_op(session, frame);
}
