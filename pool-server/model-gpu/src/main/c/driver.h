// SPDX-License-Identifier: Apache-2.0
// Declarations that the files of the driver share: results, and the objects behind its handles.
#pragma once

#include "work.h"

#include <stddef.h>

#define API __attribute__((visibility("default")))

typedef int CUresult;
typedef uint64_t CUdeviceptr;

enum {
  CUDA_SUCCESS = 0,
  CUDA_ERROR_INVALID_VALUE = 1,
  CUDA_ERROR_OUT_OF_MEMORY = 2,
  CUDA_ERROR_NOT_INITIALIZED = 3,
  CUDA_ERROR_INVALID_DEVICE = 101,
  CUDA_ERROR_INVALID_IMAGE = 200,
  CUDA_ERROR_INVALID_CONTEXT = 201,
  CUDA_ERROR_INVALID_HANDLE = 400,
  CUDA_ERROR_NOT_FOUND = 500,
  CUDA_ERROR_NOT_READY = 600,
  CUDA_ERROR_ILLEGAL_ADDRESS = 700,
  CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES = 701,
  CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED = 704,
  CUDA_ERROR_PEER_ACCESS_NOT_ENABLED = 705,
  CUDA_ERROR_ASSERT = 710,
  CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE = 720,
  CUDA_ERROR_NOT_PERMITTED = 800,
  CUDA_ERROR_NOT_SUPPORTED = 801,
};

struct stream {
  struct context *context;
  struct stream *next;
  bool blocking;
  int priority;
  struct queue queue;
  struct work *last;
};

enum { LIMITS = 8 };

struct context {
  uint32_t device;
  CUresult fault;          // permanent
  uint32_t blockCount;     // of the card's memory that it takes by itself
  uint32_t *blocks;
  size_t limits[LIMITS];   // cuCtxSetLimit
  uint64_t localBytes;     // the most local memory of a thread of the kernels launched so far
  struct stream legacy;
  struct stream *streams;  // all others
  struct context *home;    // the primary context of a green one; else itself
};

/** State of this process, by device. */
extern struct gpu gpus[MAX_CARDS];

/**
 * Takes the lock, and finds the current context. Whatever the result, api_end has to follow.
 *
 * @return CUDA_ERROR_NOT_PERMITTED in a host function, CUDA_ERROR_NOT_INITIALIZED,
 *     CUDA_ERROR_INVALID_CONTEXT, or the context's fault
 */
CUresult api_begin(struct context **context);

/** The same without a context. */
CUresult api_begin_device(int device);

/** Releases the lock; the result. */
CUresult api_end(CUresult result);

// context.c

/** Makes a context; one that is part of another, its home, takes no memory. */
CUresult context_new(uint32_t device, struct context *home, struct context **context);
void context_end(struct context *context);

/** Launches need so much local memory a thread; the context keeps as much for all threads from then on. */
CUresult context_need_local(struct context *context, uint64_t bytes);

// stream.c

/** The stream behind a handle; the lock is held. */
struct stream *stream_of(struct context *context, struct stream *handle);

/** Puts a work into a stream, with a place in its queue if it is a kernel or a copy. Drops the reference. */
void stream_submit(struct stream *stream, struct work *work);

/** A work that is done when all is that is in a stream; its user drops it. NULL: it is already. */
struct work *stream_end(struct stream *stream);

/** The same for all of a context. */
struct work *context_tail(struct context *context);

/** A work of a stream's card. */
struct work *stream_work(const struct stream *stream, enum work_kind kind, uint64_t nanos);

/** Time that bytes take at so many a second. */
uint64_t nanos_of(uint64_t bytes, uint64_t bytesPerSecond);

// memory.c

/**
 * Returns whether a device can reach these bytes: they lie in one allocation, or in mappings one behind the other of
 * which each allows it. The lock is held.
 */
bool memory_has(CUdeviceptr address, uint64_t bytes, uint32_t device, bool writing);

CUresult memory_allocate(uint32_t device, uint64_t bytes, CUdeviceptr *address);

/** Allocates a variable of a module, which lies where no other memory does. */
CUresult memory_place(uint32_t device, uint64_t bytes, CUdeviceptr *address);

CUresult memory_free(CUdeviceptr address);
