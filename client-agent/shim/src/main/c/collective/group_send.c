// SPDX-License-Identifier: Apache-2.0
#include "collective/group_send.h"

#include "collective/nccl_error.h"
#include "ops.h"
#include "shim.h"
#include "stream/capture_interface.h"
#include "stream/event.h"
#include "stream/launch_blocking.h"
#include "stream/stream.h"
#include "stream/work_hooks.h"

#include <stdlib.h>

enum { MAX_CALLS = MAX_DATA_BYTES / sizeof(struct collective_call) };

/** The calls of one communicator. */
struct batch {
  struct communicator *communicator;
  struct collective_call *calls;
  CUstream *streams;  // each once, the one that the calls run in first
  uint32_t count, streamCount;
  bool captured;
};

/** Makes the context of a communicator current; *pushed: it was not before. */
static CUresult enter(const struct communicator *communicator, bool *pushed) {
  struct context *current;
  CUresult result = context_or_none(&current);
  *pushed = !result && current != communicator->context;
  if (!*pushed) return result;
  result = communicator_context(communicator);
  if (!result) result = shim_cuCtxPushCurrent_v2((CUcontext)(void *)communicator->context);
  *pushed = !result;
  return result;
}

static void leave(bool pushed) {
  CUcontext popped;
  if (pushed) shim_cuCtxPopCurrent_v2(&popped);
}

static void free_batches(struct batch *batches, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    free(batches[i].calls);
    free(batches[i].streams);
  }
  free(batches);
}

static void add_stream(struct batch *batch, CUstream stream) {
  for (uint32_t i = 0; i < batch->streamCount; i++) {
    if (batch->streams[i] == stream) return;
  }
  batch->streams[batch->streamCount++] = stream;
}

/** Gathers the calls of a communicator, from the first on. */
static bool gather(struct batch *batch, const struct group_call *calls, uint32_t count) {
  *batch = (struct batch){.communicator = calls->communicator};
  batch->calls = malloc(count * sizeof *batch->calls);
  batch->streams = malloc(count * sizeof *batch->streams);
  if (!batch->calls || !batch->streams) return false;
  for (uint32_t i = 0; i < count; i++) {
    if (calls[i].communicator != batch->communicator) continue;
    batch->calls[batch->count++] = calls[i].call;
    add_stream(batch, calls[i].stream);
  }
  return true;
}

/** Finds the stream of a handle, as the communicator's context has it. */
static CUresult resolve(const struct communicator *communicator, CUstream handle, struct context **context,
                        uint32_t *stream) {
  *context = communicator->context;
  CUresult result = stream_number(handle, context, stream);
  if (result) return result;
  return connection_same((*context)->number, communicator->context->number) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

/** Checks the streams of a batch; the communicator's context is current. */
static int check_streams(struct batch *batch) {
  batch->captured = capture_stream(batch->streams[0]) != NULL;
  for (uint32_t i = 0; i < batch->streamCount; i++) {
    CUstream handle = batch->streams[i];
    struct context *context;
    uint32_t stream;
    if ((capture_stream(handle) != NULL) != batch->captured) {
      return nccl_fail(NCCL_INVALID_USAGE, "of a communicator's streams in one group, all are captured or none is");
    }
    CUresult result = batch->captured ? CUDA_SUCCESS : resolve(batch->communicator, handle, &context, &stream);
    if (result) return nccl_of(result, "the stream of a collective");
  }
  return NCCL_SUCCESS;
}

static int check(struct batch *batch, uint64_t communicatorId) {
  struct communicator *communicator;
  bool pushed;
  int result = communicator_find(batch->communicator, &communicator);
  if (result) return result;
  if (communicator->id != communicatorId) {
    return nccl_fail(NCCL_INVALID_USAGE, "a communicator was destroyed in a group that uses it");
  }
  if (batch->count > MAX_CALLS) {
    return nccl_fail(NCCL_INVALID_USAGE, "a group has %u calls of a communicator; gpupool takes %u at most", batch->count,
                     (unsigned)MAX_CALLS);
  }
  result = nccl_of(enter(communicator, &pushed), "the context of a communicator");
  if (result) return result;
  result = check_streams(batch);
  leave(pushed);
  return result;
}

/** Has a stream wait for what is in another one. */
static CUresult wait_for(CUstream stream, CUstream other, struct context *context) {
  struct event *event = event_make_internal(context);
  if (!event) return CUDA_ERROR_OUT_OF_MEMORY;
  CUevent handle = (CUevent)(void *)event;
  CUresult result = shim_cuEventRecord(handle, other);
  if (!result) result = shim_cuStreamWaitEvent(stream, handle, 0);
  shim_cuEventDestroy_v2(handle);
  return result;
}

/** Puts the calls into their stream. */
static CUresult submit(const struct batch *batch) {
  struct context *context;
  uint32_t stream;
  if (batch->captured) {
    struct stream *capturing = capture_stream(batch->streams[0]);
    if (!capturing) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    return capture_collective(capturing, batch->communicator, batch->calls, batch->count);
  }
  CUresult result = resolve(batch->communicator, batch->streams[0], &context, &stream);
  if (!result) result = before_submit(context, stream);
  if (!result) result = communicator_send(batch->communicator, context, stream, batch->calls, batch->count);
  return result;
}

static CUresult send_joined(const struct batch *batch) {
  struct context *context = batch->communicator->context;
  CUstream first = batch->streams[0];
  CUresult result = CUDA_SUCCESS;
  for (uint32_t i = 1; i < batch->streamCount && !result; i++) result = wait_for(first, batch->streams[i], context);
  if (!result) result = submit(batch);
  for (uint32_t i = 1; i < batch->streamCount && !result; i++) result = wait_for(batch->streams[i], first, context);
  return result;
}

/** Does something with a batch while its communicator's context is current. */
static int in_context(const struct batch *batch, CUresult (*action)(const struct batch *batch)) {
  bool pushed;
  CUresult result = enter(batch->communicator, &pushed);
  if (!result) result = action(batch);
  leave(pushed);
  return nccl_of(result, "sending collectives");
}

/** Waits for a batch where CUDA_LAUNCH_BLOCKING is set. */
static CUresult await_batch(const struct batch *batch) {
  return batch->captured ? CUDA_SUCCESS : blocking_after(CUDA_SUCCESS, batch->streams[0]);
}

/** Sorts calls by their communicators. */
static int sort(struct batch *batches, uint32_t *batchCount, const struct group_call *calls, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    bool known = false;
    for (uint32_t j = 0; j < *batchCount && !known; j++) known = batches[j].communicator == calls[i].communicator;
    if (known) continue;
    bool gathered = gather(&batches[*batchCount], calls + i, count - i);
    (*batchCount)++;
    if (!gathered) return nccl_fail(NCCL_SYSTEM_ERROR, "no memory for a group");
    int result = check(&batches[*batchCount - 1], calls[i].communicatorId);
    if (result) return result;
  }
  return NCCL_SUCCESS;
}

/** Waits until the ranks of these batches are connected that transfer to each other. */
static int connect_ranks(const struct batch *batches, uint32_t count) {
  bool waits = false, begun;
  uint64_t pause = 0;
  int result = NCCL_SUCCESS;
  for (uint32_t i = 0; i < count && !result; i++) {
    result = communicator_connect(batches[i].communicator, batches[i].calls, batches[i].count, &begun);
    waits |= begun;
  }
  for (uint32_t i = 0; i < count && waits && !result;) {
    result = communicator_ask(batches[i].communicator, NULL);
    if (result == NCCL_IN_PROGRESS) {
      result = NCCL_SUCCESS;
      communicator_pause(&pause);
    } else {
      i++;
    }
  }
  return result;
}

int group_send(const struct group_call *calls, uint32_t count) {
  uint32_t batchCount = 0;
  struct batch *batches = calloc(count, sizeof *batches);
  if (!batches) return nccl_fail(NCCL_SYSTEM_ERROR, "no memory for a group");
  int result = sort(batches, &batchCount, calls, count);
  if (!result) result = connect_ranks(batches, batchCount);
  for (uint32_t i = 0; i < batchCount && !result; i++) result = in_context(&batches[i], send_joined);
  for (uint32_t i = 0; i < batchCount && !result; i++) result = in_context(&batches[i], await_batch);
  free_batches(batches, batchCount);
  return result;
}
