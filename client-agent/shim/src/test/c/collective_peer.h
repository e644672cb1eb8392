// SPDX-License-Identifier: Apache-2.0
// A worker that notes what NCCL's calls send it, and answers as a test wants.
#pragma once

#include "collective/nccl_table.h"
#include "harness.h"
#include "peer_context.h"
#include "shim.h"

#include "exports.h"

enum { RANKS = 4, RANK = 2, FLOAT = 7, HALF = 6, SUM = 0, MOST = 64, ELEMENTS = 100 };

static const uint8_t id[NCCL_ID_BYTES] = "an identifier";

/** The ops that the worker received, in order. */
static struct {
  _Atomic uint32_t count;
  uint16_t ops[MOST];
  uint32_t streams[MOST];
  struct collective_call calls[MOST];  // of the latest frame
  uint32_t callCount;
  uint32_t connections[MOST];  // of the latest op of its kind
  uint32_t connected;
  uint32_t communicator;
  int32_t color, key;
} got;

static _Atomic int progress;  // questions for the state that are answered with ncclInProgress
static _Atomic int state;
static _Atomic uint64_t pending;

static inline void note(uint16_t op, uint64_t stream) {
  uint32_t at = got.count;
  CHECK(at < MOST);
  got.ops[at] = op;
  got.streams[at] = (uint32_t)stream;
  got.count = at + 1;
}

static inline void answer_state(struct peer_session *session, const struct frame *frame) {
  bool later = progress > 0 && progress--;
  uint64_t out[4] = {later ? NCCL_IN_PROGRESS : (uint64_t)state, later ? 0 : RANKS, later ? 0 : RANK, pending};
  if (pending) pending--;
  peer_reply(session, frame, 0, out, sizeof out);
}

static inline void answer_error(struct peer_session *session, const struct frame *frame) {
  uint64_t out[3] = {11};
  memcpy(out + 1, "it is gone.", 11);
  peer_reply(session, frame, 0, out, sizeof out);
}

static inline bool handle(struct peer_session *session, const struct frame *frame) {
  const uint64_t *slot = frame->slot;
  switch (frame->op) {
    case OP_communicatorJoin:
      CHECK(slot[2] == RANKS && slot[3] == RANK && slot[4] == NCCL_ID_BYTES);
      CHECK(memcmp(slot + 5, id, sizeof id) == 0);
      note(frame->op, 0);
      got.communicator = (uint32_t)slot[1];
      peer_reply(session, frame, 0, NULL, 0);
      return true;
    case OP_communicatorSplit:
      CHECK(slot[1] == got.communicator);
      got.color = (int32_t)slot[3];
      got.key = (int32_t)slot[4];
      note(frame->op, 0);
      peer_reply(session, frame, 0, NULL, 0);
      return true;
    case OP_communicatorState:
      answer_state(session, frame);
      return true;
    case OP_communicatorError:
      answer_error(session, frame);
      return true;
    case OP_communicatorCalls:
      got.callCount = (uint32_t)(slot[2] / sizeof *got.calls);
      CHECK(slot[0] == got.communicator && slot[2] % sizeof *got.calls == 0 && got.callCount <= MOST);
      memcpy(got.calls, slot + 3, slot[2]);
      note(frame->op, slot[1]);
      return true;
    case OP_communicatorConnect:
      got.connected = (uint32_t)(slot[1] / sizeof *got.connections);
      CHECK(slot[0] == got.communicator && got.connected <= MOST);
      memcpy(got.connections, slot + 2, slot[1]);
      return true;
    case OP_communicatorAbort:
    case OP_communicatorEnd:
      note(frame->op, 0);
      return true;
    case OP_eventRecord:
      note(frame->op, slot[1]);
      return true;
    case OP_streamWaitEvent:
      note(frame->op, slot[0]);
      return true;
    default:
      return false;
  }
}

/** Waits until the worker has all that was sent. */
static inline void settle(void) { CHECK_OK(cuCtxSynchronize()); }

static inline struct communicator *join(void) {
  struct communicator *communicator = NULL;
  peer.handler = handle;
  begin();
  progress = 2;
  CHECK_OK(ncclTable.join(&communicator, RANKS, id, RANK, NCCL_BLOCKING));
  CHECK(communicator && progress == 0);
  got.count = 0;
  return communicator;
}

static inline CUdeviceptr allocate(size_t bytes) {
  CUdeviceptr memory;
  CHECK_OK(cuMemAlloc_v2(&memory, bytes));
  return memory;
}

static inline struct nccl_request all_reduce(struct communicator *communicator, CUdeviceptr memory, CUstream stream) {
  return (struct nccl_request){.function = "ncclAllReduce",
                               .kind = NCCL_ALL_REDUCE,
                               .send = (const void *)(uintptr_t)memory,
                               .receive = (void *)(uintptr_t)memory,
                               .count = ELEMENTS,
                               .type = FLOAT,
                               .operation = SUM,
                               .communicator = communicator,
                               .stream = stream};
}
