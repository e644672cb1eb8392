// SPDX-License-Identifier: Apache-2.0
#include "memory/mirror.h"

#include "core/fork.h"
#include "memory/mirror_blocks.h"
#include "ops.h"
#include "stream/stream.h"
#include "stream/work_hooks.h"
#include "transport/loan.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>

enum {
  MAX_BUSY = 64,
  OTHERS_WAITS = 64,
  FETCHES = 32,  // under way at the same time
};

/** A stream that was given work by a thread and may still be at it. */
struct busy {
  uint64_t contextId;
  uint32_t stream;
  const struct thread *thread;
  uint64_t when;
  uint32_t othersWaits;
};

static struct {
  struct lock lock;  // held while contents are made equal
  struct mirror *first;
  struct busy busy[MAX_BUSY];
  uint32_t busyCount;
  bool tooMany;  // streams to keep apart: then each wait collects
} all;

static void mirrors_reset(void) {
  // The parent's host memory stays as it is; what describes it is left alone, for malloc may be locked.
  memset(&all, 0, sizeof all);
  submitHooksArmed = waitingHooksArmed = 0;
}

ON_FORK(mirrors_reset);

/** A stream of our own in the context: contents travel in it. */
static CUresult own_stream(struct context *context, uint32_t *number) {
  return stream_internal(context, &context->mirrorStream, number);
}

/** Waits for the contents on their way in a context; NULL: there are none. */
static CUresult settle(struct context *context) {
  if (!context) return CUDA_SUCCESS;
  return context_result(context, op_streamSynchronize(context->number, context->mirrorStream));
}

// Host to device

static CUresult send(const struct mirror *mirror, uint64_t at, uint64_t end) {
  const uint8_t *from = mirror->shadow ? mirror->shadow : mirror->host;
  CUresult result = CUDA_SUCCESS;
  struct loan loan;
  loan_begin(&loan, connection_of(mirror->context->number));
  while (at < end && !result) {
    uint64_t part = end - at < MAX_DATA_BYTES ? end - at : MAX_DATA_BYTES;
    result = op_mirrorWrite(mirror->context->number, mirror->device + at,
                            mirror->context->mirrorStream, from + at, part);
    at += part;
  }
  loan_end(&loan, LOAN_KEPT);  // until they are settled
  return result;
}

/** Sends the runs of changed blocks. */
static CUresult send_blocks(struct mirror *mirror, uint64_t *sent) {
  uint64_t blocks = mirror_blocks(mirror), first = 0;
  CUresult result = CUDA_SUCCESS;
  bool run = false;
  for (uint64_t block = 0; block <= blocks && !result; block++) {
    bool changed = block < blocks && mirror_take_change(mirror, block);
    if (changed && !run) first = block;
    if (!changed && run) {
      uint64_t end = block * mirror->blockBytes;
      result = send(mirror, first * mirror->blockBytes, end < mirror->bytes ? end : mirror->bytes);
      ++*sent;
    }
    run = changed;
  }
  if (!result) mirror->known = true;
  return result;
}

/** Sends the runs of changed words of a block: what lies between them may be the device's to change. */
static CUresult send_words(struct mirror *mirror, uint64_t block, uint64_t *sent) {
  uint64_t at = block * mirror->blockBytes, end = at + mirror_block_bytes(mirror, block);
  CUresult result = CUDA_SUCCESS;
  if (!memcmp(mirror->shadow + at, mirror->host + at, end - at)) return CUDA_SUCCESS;
  uint64_t first = end;
  for (; at <= end && !result; at += MIRROR_WORD_BYTES) {
    uint64_t bytes = at >= end ? 0 : end - at < MIRROR_WORD_BYTES ? end - at : MIRROR_WORD_BYTES;
    bool changed = bytes && memcmp(mirror->shadow + at, mirror->host + at, bytes) != 0;
    if (changed) {
      memcpy(mirror->shadow + at, mirror->host + at, bytes);
      if (first == end) first = at;
    } else if (first < end) {
      result = send(mirror, first, at < end ? at : end);
      first = end;
      ++*sent;
    }
  }
  if (first < end && !result) {
    result = send(mirror, first, end);
    ++*sent;
  }
  return result;
}

/**
 * Sends what the host changed; all is locked. *unsettled is the context in whose stream contents are on
 * their way, which one wait ends for all mirrors of it.
 */
static CUresult send_changed(struct mirror *mirror, struct context **unsettled) {
  uint64_t sent = 0;
  uint32_t number;
  CUresult result = own_stream(mirror->context, &number);
  if (mirror->shadow && mirror->known && (all.busyCount || all.tooMany)) {
    uint64_t blocks = mirror_blocks(mirror);
    for (uint64_t block = 0; block < blocks && !result; block++) {
      result = send_words(mirror, block, &sent);
    }
  } else if (!result) {
    result = send_blocks(mirror, &sent);
  }
  mirror->hostMayWrite = result != CUDA_SUCCESS;
  if (result || !sent || *unsettled == mirror->context) return result;
  result = settle(*unsettled);
  *unsettled = mirror->context;
  return result;
}

/** Records a stream that gets work; all is locked. */
static void note_busy(const struct context *context, uint32_t stream) {
  const struct thread *thread = ownThread;
  uint64_t now = atomic_fetch_add(&submitClock, 1) + 1;
  struct busy *entry = all.busy;
  struct busy *end = entry + all.busyCount;
  while (entry < end && (entry->contextId != context->id || entry->stream != stream ||
                         entry->thread != thread)) {
    entry++;
  }
  if (entry == all.busy + MAX_BUSY) {
    all.tooMany = true;
    return;
  }
  if (entry == end) all.busyCount++;
  *entry = (struct busy){context->id, stream, thread, now, 0};
}

static CUresult mirrors_publish(struct context *context, uint32_t stream) {
  CUresult result = CUDA_SUCCESS;
  struct context *unsettled = NULL;
  lock_take(&all.lock);
  for (struct mirror *mirror = all.first; mirror && !result; mirror = mirror->next) {
    bool due = mirror->hostMayWrite || mirror->always;
    if (due && !mirror->context->sticky) result = send_changed(mirror, &unsettled);
  }
  if (!result) result = settle(unsettled);
  if (stream) note_busy(context, stream);
  lock_release(&all.lock);
  return result;
}
BEFORE_SUBMIT(mirrors_publish);

// Device to host

/** A mirror whose changes are on their way. */
struct fetch {
  struct mirror *mirror;
  struct call call;
  bool sent;
};

static uint64_t list_bytes(const struct mirror *mirror) { return (mirror_blocks(mirror) + 7) / 8; }

/** Asks for the blocks that the device changed; all is locked. */
static void fetch_begin(struct fetch *fetch, struct mirror *mirror, uint8_t *to) {
  *fetch = (struct fetch){.mirror = mirror,
                          .call = {.destination = to,
                                   .destinationBytes = mirror->bytes,
                                   .take = true}};
  struct connection *connection = connection_of(mirror->context->number);
  call_open(connection, &fetch->call);
  uint64_t *slot = ring_begin(connection, 40);
  if (!slot) return;
  slot[0] = FRAME(40, OP_mirrorRead, mirror->context->number);
  slot[1] = fetch->call.tag;
  slot[2] = mirror->device;
  slot[3] = mirror->bytes;
  slot[4] = list_bytes(mirror);
  ring_post(connection);
  fetch->sent = true;
}

/** Waits for them. */
static CUresult fetch_end(struct fetch *fetch) {
  struct mirror *mirror = fetch->mirror;
  struct call *call = &fetch->call;
  if (!fetch->sent) return call_cancel(call);
  call_await(call);
  CUresult result = context_result(mirror->context, call->result);
  struct variable changed = {.capacity = list_bytes(mirror)};
  uint32_t used = 0;
  reply_variable(call, &used, &changed);
  if (!result && changed.length != changed.capacity) {
    result = session_malformed("a list of changed blocks that is none");
  }
  uint64_t blocks = mirror_blocks(mirror);
  for (uint64_t block = 0; block < blocks && !result; block++) {
    if (!(changed.data[block / 8] >> block % 8 & 1)) continue;
    if (call->destination == mirror->host) {
      mirror_take_change(mirror, block);
    } else {
      mirror_merge(mirror, block);
    }
  }
  free(call->payload);
  return !result && call->faulted ? CUDA_ERROR_INVALID_VALUE : result;
}

/** Fetches what the device changed of several mirrors, from one on; *next is the first that is left. */
static CUresult fetch_some(struct mirror *first, struct mirror **next) {
  struct fetch fetches[FETCHES];
  uint32_t count = 0;
  CUresult result = CUDA_SUCCESS;
  struct mirror *mirror = first;
  for (; mirror && count < FETCHES; mirror = mirror->next) {
    mirror->hostMayWrite = true;
    // A mirror whose context has ended by a fault stays as it is.
    if (!mirror->context->sticky) fetch_begin(&fetches[count++], mirror, mirror->host);
  }
  *next = mirror;
  connections_flush();
  // The last one first: a thread that stops reading the stream wakes the thread of the latest call.
  while (count) {
    CUresult one = fetch_end(&fetches[--count]);
    if (!result) result = one;
  }
  return result;
}

static CUresult fetch_changed(struct mirror *mirror, uint8_t *to) {
  struct fetch fetch;
  fetch_begin(&fetch, mirror, to);
  connections_flush();
  return fetch_end(&fetch);
}

/** Blocks come whole: what the host wrote of mapped memory goes first, so that it comes back with them. */
static CUresult send_words_first(void) {
  struct context *unsettled = NULL;
  CUresult result = CUDA_SUCCESS;
  for (struct mirror *mirror = all.first; mirror && !result; mirror = mirror->next) {
    if (mirror->shadow && !mirror->context->sticky) result = send_changed(mirror, &unsettled);
  }
  return result ? result : settle(unsettled);
}

/** Forgets the streams that a wait has shown to be done; all is locked. */
static void note_done(const struct context *context, uint32_t stream, uint64_t mark) {
  bool whole = !stream || (stream == NUMBER_LEGACY_STREAM &&
                           !atomic_load_explicit(&context->nonBlocking, memory_order_relaxed));
  for (uint32_t i = 0; i < all.busyCount;) {
    struct busy *entry = &all.busy[i];
    bool covered = entry->contextId == context->id && entry->when <= mark &&
                   (whole || entry->stream == stream);
    // Another thread may have taken note and not sent its work yet: its entry goes by its own waits,
    // or after so many of others that it must have gone on.
    bool gone = covered && (entry->thread == ownThread || ++entry->othersWaits > OTHERS_WAITS);
    if (gone) {
      *entry = all.busy[--all.busyCount];
    } else {
      i++;
    }
  }
}

static CUresult mirrors_collect(struct context *context, uint32_t stream, uint64_t mark) {
  CUresult result = CUDA_SUCCESS;
  lock_take(&all.lock);
  if (all.busyCount || all.tooMany) {
    result = send_words_first();
    for (struct mirror *mirror = all.first; mirror && !result;) {
      result = fetch_some(mirror, &mirror);
    }
    if (!result) note_done(context, stream, mark);
  }
  lock_release(&all.lock);
  return result;
}
AFTER_WAIT(mirrors_collect);

CUresult mirrors_exchange(void) {
  CUresult result = CUDA_SUCCESS;
  lock_take(&all.lock);
  if (all.busyCount || all.tooMany) {
    result = send_words_first();
    for (struct mirror *mirror = all.first; mirror && !result; mirror = mirror->next) {
      if (!mirror->shadow || mirror->context->sticky) continue;
      if (!mirror->fetched) mirror->fetched = mirror_make_shadow(mirror);
      result = mirror->fetched ? fetch_changed(mirror, mirror->fetched) : CUDA_ERROR_OUT_OF_MEMORY;
    }
  }
  lock_release(&all.lock);
  return result;
}

// The list of mirrors

static void release(struct mirror *mirror) {
  if (mirror->shadow) munmap(mirror->shadow, mirror->bytes);
  if (mirror->fetched) munmap(mirror->fetched, mirror->bytes);
  free(mirror->prints);
  free(mirror);
}

CUresult mirror_add(struct context *context, void *host, uint64_t device, uint64_t bytes,
                    unsigned int flags) {
  struct mirror *mirror = calloc(1, sizeof *mirror);
  if (!mirror) return CUDA_ERROR_OUT_OF_MEMORY;
  *mirror = (struct mirror){.host = host,
                            .device = device,
                            .bytes = bytes,
                            .blockBytes = mirror_choose_block(bytes),
                            .context = context,
                            .contextId = context->id,
                            .always = flags & MIRROR_ALWAYS,
                            .hostMayWrite = true};
  uint64_t blocks = mirror_blocks(mirror);
  if (flags & MIRROR_ALWAYS) {
    mirror->shadow = mirror_make_shadow(mirror);
    mirror->known = flags & MIRROR_ZEROED;
  } else {
    mirror->prints = calloc(blocks, sizeof *mirror->prints);
  }
  if (!mirror->prints && !mirror->shadow) {
    free(mirror);
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  if (mirror->prints && flags & MIRROR_ZEROED) {
    uint64_t whole = mirror_print(mirror, 0), last = mirror_print(mirror, blocks - 1);
    for (uint64_t block = 0; block < blocks - 1; block++) mirror->prints[block] = whole;
    mirror->prints[blocks - 1] = last;
  }
  uint32_t stream;
  lock_take(&all.lock);
  CUresult result = own_stream(context, &stream);
  if (!result) {
    result = op_mirrorCreate(context->number, device, bytes, mirror->blockBytes,
                             (flags & MIRROR_ZEROED) != 0, stream);
  }
  if (!result) result = settle(context);
  if (!result && flags & MIRROR_FETCHED) result = fetch_changed(mirror, mirror->host);
  if (!result) {
    mirror->next = all.first;
    all.first = mirror;
    atomic_fetch_add(&submitHooksArmed, 1);
    if (mirror->shadow) atomic_fetch_add(&waitingHooksArmed, 1);
  }
  lock_release(&all.lock);
  if (result) release(mirror);
  return result;
}

/** Takes one out of the list; all is locked. */
static void take_out(struct mirror **at) {
  struct mirror *mirror = *at;
  *at = mirror->next;
  atomic_fetch_sub(&submitHooksArmed, 1);
  if (mirror->shadow) atomic_fetch_sub(&waitingHooksArmed, 1);
  release(mirror);
}

bool mirror_drop(uint64_t device) {
  lock_take(&all.lock);
  struct mirror **at = &all.first;
  while (*at && (*at)->device != device) at = &(*at)->next;
  bool found = *at != NULL;
  if (found) {
    op_mirrorDrop((*at)->context->number, device);
    take_out(at);
  }
  lock_release(&all.lock);
  return found;
}

void mirror_loosen(uint64_t device) {
  lock_take(&all.lock);
  for (struct mirror *mirror = all.first; mirror; mirror = mirror->next) {
    if (mirror->device == device) mirror->always = true;
  }
  lock_release(&all.lock);
}

bool mirror_overlaps(const void *host, uint64_t bytes) {
  if (!atomic_load_explicit(&submitHooksArmed, memory_order_relaxed)) return false;
  const uint8_t *begin = host;
  bool overlap = false;
  lock_take(&all.lock);
  for (struct mirror *mirror = all.first; mirror && !overlap; mirror = mirror->next) {
    overlap = begin < mirror->host + mirror->bytes && mirror->host < begin + bytes;
  }
  lock_release(&all.lock);
  return overlap;
}

static void mirrors_forget(struct context *context) {
  lock_take(&all.lock);
  for (struct mirror **at = &all.first; *at;) {
    if ((*at)->contextId == context->id) {
      take_out(at);
    } else {
      at = &(*at)->next;
    }
  }
  context->mirrorStream = 0;
  lock_release(&all.lock);
}
ON_CONTEXT_END(mirrors, mirrors_forget);
