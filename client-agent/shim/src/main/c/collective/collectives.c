// SPDX-License-Identifier: Apache-2.0
#include "collective/collectives.h"

#include "collective/group.h"
#include "collective/nccl_error.h"
#include "collective/reduce_operator.h"
#include "context/memory_ranges.h"
#include "memory/mapped_memory.h"

/** A buffer as the program gives it; count: the elements that the rank uses of it. */
struct buffer {
  const char *name;
  uint64_t address;
  uint64_t count;
};

/** Elements that come from or go to all ranks. */
static uint64_t all_ranks(const struct nccl_request *request, const struct communicator *communicator) {
  uint64_t count;
  return __builtin_mul_overflow(request->count, communicator->ranks, &count) ? UINT64_MAX : count;
}

/** Finds what the calling rank sends and receives. */
static void find_buffers(const struct nccl_request *request, const struct communicator *communicator,
                         struct buffer *send, struct buffer *receive) {
  uint64_t one = request->count, all = all_ranks(request, communicator);
  bool root = request->peer == (int)communicator->rank;
  *send = (struct buffer){"sendbuff", (uintptr_t)request->send, one};
  *receive = (struct buffer){"recvbuff", (uintptr_t)request->receive, one};
  switch (request->kind) {
    case NCCL_ALL_REDUCE:
      break;
    case NCCL_BROADCAST:
      if (!root) send->count = 0;
      break;
    case NCCL_REDUCE:
      if (!root) receive->count = 0;
      break;
    case NCCL_ALL_GATHER:
      receive->count = all;
      break;
    case NCCL_REDUCE_SCATTER:
      send->count = all;
      break;
    case NCCL_SEND:
      receive->count = 0;
      break;
    case NCCL_RECEIVE:
      send->count = 0;
      break;
    case NCCL_ALL_TO_ALL:
      send->count = receive->count = all;
      break;
    case NCCL_GATHER:
      receive->count = root ? all : 0;
      break;
    case NCCL_SCATTER:
      send->count = root ? all : 0;
      break;
  }
}

/** Sees that a buffer is memory of devices; page-locked memory that they see gets its address there. */
static int check_buffer(const struct nccl_request *request, struct buffer *buffer) {
  uint64_t bytes;
  bool unknown = false, moved = false;
  if (!buffer->count) {
    buffer->address = 0;
    return NCCL_SUCCESS;
  }
  if (!buffer->address) return nccl_fail(NCCL_INVALID_ARGUMENT, "%s: %s is NULL", request->function, buffer->name);
  if (__builtin_mul_overflow(buffer->count, nccl_type_bytes(request->type), &bytes)) {
    return nccl_fail(NCCL_INVALID_ARGUMENT, "%s: %zu elements are too many", request->function, request->count);
  }
  uint64_t given = buffer->address;
  CUresult result = memory_check(given, bytes, &unknown);
  if (!result && unknown) {
    unknown = false;
    result = mapped_make(given, &moved);
    buffer->address = mapped_translate(given);
    if (!result) result = memory_check(buffer->address, bytes, &unknown);
  }
  if (result) {
    return nccl_fail(NCCL_INVALID_ARGUMENT, "%s: the memory of %s at 0x%llx ends before its %llu bytes do",
                     request->function, buffer->name, (unsigned long long)given, (unsigned long long)bytes);
  }
  return unknown ? nccl_fail(NCCL_INVALID_ARGUMENT, "%s: %s at 0x%llx is not device memory", request->function,
                             buffer->name, (unsigned long long)given)
                 : NCCL_SUCCESS;
}

static bool has_peer(enum nccl_kind kind) {
  return kind == NCCL_BROADCAST || kind == NCCL_REDUCE || kind == NCCL_SEND || kind == NCCL_RECEIVE ||
         kind == NCCL_GATHER || kind == NCCL_SCATTER;
}

static bool reduces(enum nccl_kind kind) {
  return kind == NCCL_ALL_REDUCE || kind == NCCL_REDUCE || kind == NCCL_REDUCE_SCATTER;
}

/** Adds a send to another rank, or a receive from it. */
static int add_transfer(const struct nccl_request *request, struct communicator *communicator, uint32_t peer,
                        bool sends, uint64_t address) {
  struct collective_call call = {.kind = sends ? COLLECTIVE_SEND : COLLECTIVE_RECEIVE,
                                 .type = (uint32_t)request->type,
                                 .peer = peer,
                                 .send = sends ? address : 0,
                                 .receive = sends ? 0 : address,
                                 .count = request->count};
  return group_add_call(communicator, request->stream, &call);
}

/** Adds the transfers that a collective is made of. */
static int add_transfers(const struct nccl_request *request, struct communicator *communicator, uint64_t send,
                         uint64_t receive) {
  uint64_t bytes = request->count * nccl_type_bytes(request->type);
  uint32_t root = (uint32_t)request->peer;
  bool scatters = request->kind != NCCL_GATHER && (request->kind == NCCL_ALL_TO_ALL || communicator->rank == root);
  bool gathers = request->kind != NCCL_SCATTER && (request->kind == NCCL_ALL_TO_ALL || communicator->rank == root);
  int result = NCCL_SUCCESS;
  if (request->kind == NCCL_GATHER) result = add_transfer(request, communicator, root, true, send);
  if (request->kind == NCCL_SCATTER) result = add_transfer(request, communicator, root, false, receive);
  for (uint32_t i = 0; i < communicator->ranks && !result; i++) {
    if (scatters) result = add_transfer(request, communicator, i, true, send + i * bytes);
    if (gathers && !result) result = add_transfer(request, communicator, i, false, receive + i * bytes);
  }
  return result;
}

static int add(const struct nccl_request *request) {
  struct communicator *communicator;
  struct buffer send, receive;
  int result = communicator_ready(request->communicator, &communicator);
  if (result) return result;
  if (communicator->finished) {
    return nccl_fail(NCCL_INVALID_USAGE, "%s: ncclCommFinalize has ended the communicator", request->function);
  }
  if (!nccl_type_bytes(request->type)) {
    return nccl_fail(NCCL_INVALID_ARGUMENT, "%s: %d is no data type", request->function, request->type);
  }
  if (has_peer(request->kind) && (request->peer < 0 || (uint32_t)request->peer >= communicator->ranks)) {
    return nccl_fail(NCCL_INVALID_ARGUMENT, "%s: rank %d of %u ranks", request->function, request->peer,
                     communicator->ranks);
  }
  struct collective_call call = {.kind = (uint32_t)request->kind,
                                 .type = (uint32_t)request->type,
                                 .peer = has_peer(request->kind) ? (uint32_t)request->peer : 0,
                                 .count = request->count};
  if (reduces(request->kind)) result = operator_apply(communicator, request->operation, request->type, &call);
  if (result || !request->count) return result;
  find_buffers(request, communicator, &send, &receive);
  result = check_buffer(request, &send);
  if (!result) result = check_buffer(request, &receive);
  if (result) return result;
  if (request->kind > NCCL_RECEIVE) return add_transfers(request, communicator, send.address, receive.address);
  call.send = send.address;
  call.receive = receive.address;
  return group_add_call(communicator, request->stream, &call);
}

int collective_submit(const struct nccl_request *request) {
  group_begin();
  return group_leave(add(request));
}
