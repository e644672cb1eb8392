// SPDX-License-Identifier: Apache-2.0
#include "graph/graph_send.h"

#include "graph/graph_conditions.h"
#include "memory/memcpy2d.h"
#include "ops.h"
#include "stream/event.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { GATHERED_BYTES = 256 << 10 };

/** Bytes that grow. */
struct buffer {
  uint8_t *bytes;
  size_t count, capacity;
  bool failed;
};

/** Zeroed room for some more bytes, rounded up to 8; NULL: no memory. */
static void *grow(struct buffer *buffer, size_t bytes) {
  if (buffer->failed) return NULL;
  bytes = (bytes + 7) & ~(size_t)7;
  if (buffer->count + bytes > buffer->capacity) {
    size_t capacity = 2 * buffer->capacity > buffer->count + bytes ? 2 * buffer->capacity
                                                                   : buffer->count + bytes + 4096;
    uint8_t *more = realloc(buffer->bytes, capacity);
    if (!more) {
      buffer->failed = true;
      return NULL;
    }
    buffer->bytes = more;
    buffer->capacity = capacity;
  }
  void *room = buffer->bytes + buffer->count;
  memset(room, 0, bytes);
  buffer->count += bytes;
  return room;
}

static void append(struct buffer *buffer, const void *bytes, size_t count) {
  void *room = count ? grow(buffer, count) : NULL;
  if (room) memcpy(room, bytes, count);
}

static CUresult append_kernel(struct buffer *buffer, const struct work *work) {
  const struct kernel_work *kernel = &work->kernel;
  struct function *function;
  CUresult result = work_function(work, &function);
  if (result) return result;
  struct kernel_node_work head = {
      .function = function->slot.number,
      .grid = {kernel->grid[0], kernel->grid[1], kernel->grid[2]},
      .block = {kernel->block[0], kernel->block[1], kernel->block[2]},
      .sharedBytes = kernel->sharedBytes,
      .attributeCount = kernel->attributeCount,
      .parameterBytes = kernel->parameterBytes,
  };
  append(buffer, &head, sizeof head);
  append(buffer, kernel->attributes, kernel->attributeCount * sizeof *kernel->attributes);
  append(buffer, kernel->parameters, kernel->parameterBytes);
  return CUDA_SUCCESS;
}

/** Appends a copy within devices; the fields that follow from its addresses are filled in. */
static void append_copy(struct buffer *buffer, const CUDA_MEMCPY3D *copy) {
  CUDA_MEMCPY3D plain = *copy;
  plain.srcMemoryType = plain.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  plain.srcHost = plain.dstHost = NULL;
  plain.srcArray = plain.dstArray = NULL;
  if (!plain.srcPitch) plain.srcPitch = plain.srcXInBytes + plain.WidthInBytes;
  if (!plain.dstPitch) plain.dstPitch = plain.dstXInBytes + plain.WidthInBytes;
  if (!plain.srcHeight) plain.srcHeight = plain.srcY + plain.Height;
  if (!plain.dstHeight) plain.dstHeight = plain.dstY + plain.Height;
  append(buffer, &plain, sizeof plain);
}

static CUresult append_event(struct buffer *buffer, CUevent handle) {
  struct context *context = NULL;
  struct event *event;
  CUresult result = event_find(handle, &context, &event);
  if (result) return result;
  atomic_store(&event->elsewhere, true);
  struct event_node_work head = {.event = event->slot.number};
  append(buffer, &head, sizeof head);
  return CUDA_SUCCESS;
}

/** A conditional node: its bodies, if it has them, get numbers and are sent later. */
static void append_conditional(struct buffer *buffer, const struct conditional_work *conditional) {
  struct conditional_node_work head = {.handle = conditional->handle,
                                       .kind = (uint32_t)conditional->kind,
                                       .bodyCount = conditional->count};
  append(buffer, &head, sizeof head);
  uint32_t *numbers = grow(buffer, conditional->count * sizeof *numbers);
  for (unsigned int i = 0; numbers && conditional->bodies && i < conditional->count; i++) {
    struct graph *body = conditional->bodies[i];
    numbers[i] = body->number = graph_number();
    if (body->plan->phaseCount > 1) body->plan->phases[1].graph = body->number;
  }
}

static CUresult append_work(struct buffer *buffer, const struct work *work) {
  switch (work->type) {
    case NODE_KERNEL:
      return append_kernel(buffer, work);
    case NODE_MEMCPY:
      append_copy(buffer, &work->copy);
      return CUDA_SUCCESS;
    case NODE_MEMSET:
      append(buffer, &work->fill, sizeof work->fill);
      return CUDA_SUCCESS;
    case NODE_EVENT_RECORD:
    case NODE_EVENT_WAIT:
      return append_event(buffer, work->event);
    case NODE_CONDITIONAL:
      append_conditional(buffer, &work->conditional);
      return CUDA_SUCCESS;
    default:
      return CUDA_ERROR_NOT_SUPPORTED;
  }
}

/** The record of one step of a phase. */
static CUresult append_step(struct buffer *buffer, const struct plan *plan,
                            const struct step *step, uint16_t context) {
  size_t start = buffer->count;
  const struct work *work = &step->node->work;
  bool nothing = step->kind == STEP_NOTHING;
  struct graph_node_record record = {.type = nothing ? NODE_EMPTY : (uint16_t)work->type, .context = context};
  struct context *own;
  if (!nothing && work->context) {
    CUresult result = work_context(work, &own);
    if (result) return result;
    record.context = connection_context(own->number);
  }
  grow(buffer, sizeof record);
  for (uint32_t i = 0; i < step->afterCount; i++) {
    const struct step *before = &plan->steps[plan->after[step->firstAfter + i]];
    if (before->phase == step->phase) record.afterCount++;
  }
  uint32_t *indexes = record.afterCount ? grow(buffer, record.afterCount * sizeof *indexes) : NULL;
  for (uint32_t i = 0; indexes && i < step->afterCount; i++) {
    const struct step *before = &plan->steps[plan->after[step->firstAfter + i]];
    if (before->phase == step->phase) *indexes++ = before->index;
  }
  size_t workStart = buffer->count;
  CUresult result = nothing ? CUDA_SUCCESS : append_work(buffer, work);
  if (buffer->failed) return CUDA_ERROR_OUT_OF_MEMORY;
  if (result) return result;
  record.length = (uint32_t)(buffer->count - start);
  record.workBytes = (uint32_t)(buffer->count - workStart);
  memcpy(buffer->bytes + start, &record, sizeof record);
  return record.length <= MAX_DATA_BYTES ? CUDA_SUCCESS : CUDA_ERROR_NOT_SUPPORTED;
}

/** Sends whole records, as many as a frame takes. */
static CUresult flush(struct buffer *buffer, uint32_t graph, uint16_t context) {
  CUresult result = CUDA_SUCCESS;
  for (size_t at = 0; at < buffer->count && !result;) {
    size_t end = at;
    while (end < buffer->count) {
      uint32_t bytes;
      memcpy(&bytes, buffer->bytes + end, sizeof bytes);
      if (end + bytes - at > MAX_DATA_BYTES) break;
      end += bytes;
    }
    result = op_graphAddNodes(context, graph, buffer->bytes + at, end - at);
    at = end;
  }
  buffer->count = 0;
  return result;
}

static CUresult send_steps(const struct plan *plan, const struct phase *phase, uint16_t context,
                           struct graph_node **fault) {
  struct buffer buffer = {0};
  CUresult result = CUDA_SUCCESS;
  for (uint32_t i = 0; i < phase->count && !result; i++) {
    const struct step *step = &plan->steps[plan->order[phase->first + i]];
    result = append_step(&buffer, plan, step, context);
    if (result) {
      *fault = step->node;
    } else if (buffer.count > GATHERED_BYTES) {
      result = flush(&buffer, phase->graph, context);
    }
  }
  if (!result) result = flush(&buffer, phase->graph, context);
  free(buffer.bytes);
  for (uint32_t i = 0; i < phase->count && !result; i++) {
    const struct work *work = &plan->steps[plan->order[phase->first + i]].node->work;
    if (work->type != NODE_CONDITIONAL) continue;
    for (unsigned int j = 0; j < work->conditional.count && !result; j++) {
      const struct plan *body = work->conditional.bodies[j]->plan;
      if (body->phaseCount > 1) result = send_steps(body, &body->phases[1], context, fault);
    }
  }
  return result;
}

CUresult send_phase(struct plan *plan, struct phase *phase, struct context *context,
                    uint64_t flags, struct graph_node **fault) {
  uint32_t status = 0, faultIndex = NO_STEP;
  bool own = !phase->graph;
  CUresult result = CUDA_SUCCESS;
  if (own) {
    phase->graph = graph_number();
    result = op_graphCreate(context->number, phase->graph);
  }
  if (!result) result = send_steps(plan, phase, context->number, fault);
  if (!result) {
    result = context_result(
        context, op_graphInstantiate(context->number, phase->graph, flags, &status, &faultIndex));
  }
  if (!result && status) {
    result = context_result(context, (CUresult)status);
    if (faultIndex < phase->count) *fault = plan->steps[plan->order[phase->first + faultIndex]].node;
  }
  if (result && own) {
    op_graphDestroy(context->number, phase->graph);
    phase->graph = 0;
  }
  return result;
}

CUresult send_work(const struct phase *phase, const struct step *step, const struct work *work,
                   struct context *context) {
  struct buffer buffer = {0};
  struct context *own = context;
  CUresult result = work->context ? work_context(work, &own) : CUDA_SUCCESS;
  if (!result) result = append_work(&buffer, work);
  if (!result && buffer.failed) result = CUDA_ERROR_OUT_OF_MEMORY;
  if (!result) {
    result = op_graphSetNode(own->number, phase->graph, step->index, buffer.bytes, buffer.count);
  }
  free(buffer.bytes);
  return result;
}
