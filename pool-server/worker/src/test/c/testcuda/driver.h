// SPDX-License-Identifier: Apache-2.0
/*
 * The test driver: a libcuda.so.1 for tests, with the driver's ABI and its rules of memory, streams and
 * events. Host memory stands for device memory, and a few kernels are built in. Each stream is a thread
 * that takes operations from a queue; an operation starts when its dependencies, which are pairs of a
 * stream and a sequence number, are done. Module images are text:
 *
 *   testcuda
 *   kernel NAME SIZE...      built in: fill(u64 p, u32 n, u32 v), add(u64 a, u64 b, u64 c, u32 n),
 *                            sleep(u64 microseconds), fault(), print(), assert()
 *   global NAME BYTES
 *
 * Variables of the environment:
 *   TESTCUDA_DEVICES (2) and TESTCUDA_MEMORY_MIB (1024) set the devices.
 *   TESTCUDA_INIT is the result of cuInit, or a file that holds it.
 *   TESTCUDA_COMPUTE_MODE and TESTCUDA_PAGEABLE_ACCESS are attributes of each device.
 *   TESTCUDA_AFTER_FAULT=stays keeps a fault through a reset; with =hangs, reset and cuCtxDestroy never return.
 * The devices' names show CUDA_VISIBLE_DEVICES and CUDA_MPS_ACTIVE_THREAD_PERCENTAGE, and
 * CUDA_DEVICE_MAX_CONNECTIONS as it was at cuInit.
 */
#pragma once

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

typedef int Result;
typedef uint64_t Address;

enum {
  SUCCESS = 0, INVALID_VALUE = 1, OUT_OF_MEMORY = 2, NOT_INITIALIZED = 3, INVALID_DEVICE = 101,
  INVALID_IMAGE = 200, INVALID_CONTEXT = 201, INVALID_HANDLE = 400, NOT_FOUND = 500, NOT_READY = 600,
  ILLEGAL_ADDRESS = 700, ASSERT = 710, NOT_PERMITTED = 800
};
enum { MAX_DEVICES = 8, MAX_DEPENDENCIES = 64, MAX_PARAMETERS = 16 };

struct op;
typedef void Action(struct op *op);

struct dependency {
  struct stream *stream;
  uint64_t sequence;
};

struct op {
  Action *run;
  struct op *next;
  int even_after_fault;
  int dependency_count;
  struct dependency dependencies[MAX_DEPENDENCIES];
  uint64_t a, b, c, d;
  void *f, *user;
};

struct stream {
  struct context *context;
  struct stream *next;
  int blocking, priority, dying;
  pthread_t thread;
  struct op *head, *tail;
  uint64_t issued, done;
};

struct event {
  struct context *context;
  struct dependency point;
  uint64_t nanos;
};

struct context {
  int device, fault;
  struct stream *streams, *legacy;
  struct context *home; /* the primary context of a green one; else itself */
};

struct function {
  struct module *module;
  char name[64];
  int parameter_count;
  size_t sizes[MAX_PARAMETERS];
  int loaded; /* its code is on the device, because of a launch or of a question about the code */
};

struct allocation {
  Address address;
  size_t size;
  int device;
  struct allocation *next;
  struct pool *pool; /* NULL: a default pool, or none */
};

struct array {
  size_t width, height, depth, element;
  Address memory;
};

/* The library exports CUDA's functions, but not those that its parts call of each other. */
#pragma GCC visibility push(hidden)

/* driver.c */
extern pthread_mutex_t lock;
extern int initialized;
extern __thread struct context *current;
extern __thread int in_host_function;

/* Counts the calls that give the driver addresses, structs or images: those that a session refuses never arrive. */
void count_call(void);

/* Returns a number from the environment. */
int setting(const char *name, int fallback);

/* Returns the error with which a call in the current context fails, if it does. */
Result usable(void);

/* device.c */
Result check_device(int device);

/* stream.c */

/* Kernels that printed or failed an assertion: as with the driver, the text comes out when somebody waits for them. */
extern int printed, asserted;

/* Creates a stream, which is never freed. */
struct stream *new_stream(struct context *context, int blocking);

struct stream *stream_of(struct stream *handle);
struct op *new_op(Action *run);
Result submit(struct stream *handle, struct op *op);

/* Returns the operation's sequence number; the caller holds the lock. */
uint64_t submit_locked(struct stream *stream, struct op *op);

int is_done(struct dependency point);
Result query(struct dependency point, struct context *context);
Result await(struct dependency point, struct context *context);

/* context.c */
extern struct context *primary[MAX_DEVICES];
extern int retained[MAX_DEVICES];
struct context *new_context(int device);

/* memory.c */
extern struct allocation *allocations;
size_t memory_size(void);
int is_allocated(Address address, size_t size);
int is_pinned(Address address, size_t size);

/* memory_pool.c */
void pool_freed(struct pool *pool, size_t size);

/* module.c */
void load_function(struct function *f);

#pragma GCC visibility pop

/* Functions of CUDA that other files call, too. */
struct resource;
Result cuDeviceGetDevResource(int device, struct resource *out, int type);
Result cuDevicePrimaryCtxRelease_v2(int device);
Result cuCtxSynchronize(void);
Result cuStreamSynchronize(struct stream *handle);
Result cuStreamWaitEvent(struct stream *handle, struct event *event, unsigned flags);
Result cuEventRecord(struct event *event, struct stream *handle);
Result cuMemAlloc_v2(Address *out, size_t size);
Result cuMemFree_v2(Address address);
Result cuMemcpyDtoDAsync_v2(Address target, Address source, size_t size, struct stream *stream);
Result cuMemsetD32Async(Address target, unsigned value, size_t count, struct stream *stream);
Result cuLaunchKernel(struct function *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                      unsigned bz, unsigned shared, struct stream *stream, void **parameters, void **extra);
