// SPDX-License-Identifier: Apache-2.0
/*
 * A libcuda.so.1 for tests: the driver's ABI and its rules of memory, streams and events, with host
 * memory for device memory and a few kernels built in. Each stream is a thread that takes operations
 * from a queue; an operation starts when those it depends on, (stream, sequence number) pairs, are
 * done. Module images are text:
 *
 *   testcuda
 *   kernel NAME SIZE...      built in: fill(u64 p, u32 n, u32 v), add(u64 a, u64 b, u64 c, u32 n),
 *                            sleep(u64 microseconds), fault(), print(), assert()
 *   global NAME BYTES
 *
 * TESTCUDA_DEVICES (2) and TESTCUDA_MEMORY_MIB (1024) in the environment set the devices, TESTCUDA_INIT
 * what cuInit answers. The devices' names tell what CUDA_VISIBLE_DEVICES and CUDA_MPS_ACTIVE_THREAD_PERCENTAGE said of them, and
 * CUDA_DEVICE_MAX_CONNECTIONS when cuInit was called. TESTCUDA_COMPUTE_MODE: CU_DEVICE_ATTRIBUTE_COMPUTE_MODE.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

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
  int loaded; /* its code is on the device: somebody asked for what the driver knows from the code, or launched it */
};

struct global {
  char name[64];
  Address address;
  size_t size;
};

struct module {
  int function_count, global_count;
  struct function *functions;
  struct global globals[16];
};

struct allocation {
  Address address;
  size_t size;
  int device;
  struct allocation *next;
  struct pool *pool; /* NULL: of none that was made */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int initialized;
static char connections[8]; /* CUDA_DEVICE_MAX_CONNECTIONS at cuInit */
static struct context *primary[MAX_DEVICES];
static int retained[MAX_DEVICES];
static size_t used[MAX_DEVICES];
static struct allocation *allocations;
static __thread struct context *current;
static __thread int in_host_function;

/* How often the driver was given addresses, structs or images: what a session refuses does not come here. */
static uint64_t calls;

uint64_t testcudaCalls(void) { return __atomic_load_n(&calls, __ATOMIC_RELAXED); }

/* Functions with their code on the device, of all modules that were ever loaded. */
static uint64_t loaded_functions;

uint64_t testcudaLoadedFunctions(void) { return __atomic_load_n(&loaded_functions, __ATOMIC_RELAXED); }

static void load_function(struct function *f) {
  if (!__atomic_exchange_n(&f->loaded, 1, __ATOMIC_RELAXED)) __atomic_add_fetch(&loaded_functions, 1, __ATOMIC_RELAXED);
}

static void count_call(void) { __atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED); }

static int setting(const char *name, int fallback) {
  const char *value = getenv(name);
  return value ? atoi(value) : fallback;
}

/** Word of CUDA_VISIBLE_DEVICES; NULL if it has not so many, "" for all if it is not set. */
static const char *visible(int index) {
  const char *at = getenv("CUDA_VISIBLE_DEVICES");
  if (!at) return "";
  while (index-- > 0) {
    at = strchr(at, ',');
    if (!at) return NULL;
    at++;
  }
  return at;
}

static int devices(void) {
  int count = setting("TESTCUDA_DEVICES", 2);
  while (count > 0 && !visible(count - 1)) count--;
  return count;
}

static size_t memory_size(void) { return (size_t)setting("TESTCUDA_MEMORY_MIB", 1024) << 20; }

static uint64_t now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Whether a call may go on in the current context. */
static Result usable(void) {
  if (in_host_function) return NOT_PERMITTED;
  if (!initialized) return NOT_INITIALIZED;
  if (!current) return INVALID_CONTEXT;
  return current->fault;
}

/* Devices */

/* TESTCUDA_INIT: the result, or a file that holds it. */
Result cuInit(unsigned flags) {
  const char *result = getenv("TESTCUDA_INIT");
  char text[16] = "";
  FILE *file;
  if (result && *result == '/') {
    file = fopen(result, "r");
    if (file) {
      if (!fgets(text, sizeof text, file)) text[0] = 0;
      fclose(file);
    }
    result = text;
  }
  if (result && atoi(result)) return (Result)atoi(result);
  initialized = 1;
  if (getenv("CUDA_DEVICE_MAX_CONNECTIONS"))
    snprintf(connections, sizeof connections, "%s", getenv("CUDA_DEVICE_MAX_CONNECTIONS"));
  return flags ? INVALID_VALUE : SUCCESS;
}

Result cuGetErrorName(Result error, const char **name) {
  if (error != 803) return INVALID_VALUE;
  *name = "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH";
  return SUCCESS;
}

Result cuDriverGetVersion(int *version) { *version = 13000; return SUCCESS; }
Result cuDeviceGetCount(int *count) { *count = devices(); return SUCCESS; }

static Result check_device(int device) {
  return device < 0 || device >= devices() ? INVALID_DEVICE : SUCCESS;
}

Result cuDeviceGet(int *device, int ordinal) {
  *device = ordinal;
  return check_device(ordinal);
}

Result cuDeviceGetName(char *name, int length, int device) {
  const char *word = visible(device), *threads = getenv("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE");
  if (check_device(device)) return check_device(device);
  if (*word) {
    snprintf(name, (size_t)length, "Test GPU %.*s", (int)strcspn(word, ","), word);
  } else {
    snprintf(name, (size_t)length, "Test GPU %d", device);
  }
  if (threads) {
    size_t end = strlen(name);
    snprintf(name + end, (size_t)length - end, ", %s %% of threads", threads);
  }
  if (*connections) {
    size_t end = strlen(name);
    snprintf(name + end, (size_t)length - end, ", %s connections", connections);
  }
  return SUCCESS;
}

/* As CUDA_VISIBLE_DEVICES names the device, if it does. */
Result cuDeviceGetUuid_v2(unsigned char *uuid, int device) {
  const char *word = visible(device);
  memset(uuid, 0x74, 16);
  uuid[15] = (unsigned char)device;
  if (word && (!strncmp(word, "GPU-", 4) || !strncmp(word, "MIG-", 4))) {
    const char *at = word + 4;
    for (int i = 0; i < 16; i++, at += 2) {
      if (*at == '-') at++;
      unsigned byte;
      if (sscanf(at, "%2x", &byte) != 1) break;
      uuid[i] = (unsigned char)byte;
    }
  }
  return check_device(device);
}

Result cuDeviceGetPCIBusId(char *id, int length, int device) {
  snprintf(id, (size_t)length, "0000:%02x:00.0", device + 1);
  return check_device(device);
}

Result cuDeviceTotalMem_v2(size_t *bytes, int device) {
  *bytes = memory_size();
  return check_device(device);
}

Result cuDeviceGetAttribute(int *value, int attribute, int device) {
  switch (attribute) {
  case 1: *value = 1024; break;
  case 10: *value = 32; break;
  case 16: *value = 4; break;
  case 20: *value = setting("TESTCUDA_COMPUTE_MODE", 0); break;
  case 88: case 100: *value = setting("TESTCUDA_PAGEABLE_ACCESS", 0); break;
  case 75: *value = 9; break;
  case 76: *value = 0; break;
  case 33: *value = device + 1; break;
  default:
    if (attribute <= 0 || attribute > 140) return INVALID_VALUE;
    *value = 0;
  }
  return check_device(device);
}

/* Streams */

static int ready(const struct op *op) {
  for (int i = 0; i < op->dependency_count; i++)
    if (op->dependencies[i].stream->done < op->dependencies[i].sequence) return 0;
  return 1;
}

static void *run_stream(void *argument) {
  struct stream *stream = argument;
  pthread_mutex_lock(&lock);
  while (1) {
    while (!(stream->head && ready(stream->head)) && !(stream->dying && !stream->head))
      pthread_cond_wait(&changed, &lock);
    struct op *op = stream->head;
    if (!op) break;
    int skipped = stream->context->fault && !op->even_after_fault;
    pthread_mutex_unlock(&lock);
    if (!skipped) op->run(op);
    pthread_mutex_lock(&lock);
    stream->head = op->next;
    if (!stream->head) stream->tail = NULL;
    stream->done++;
    free(op);
    pthread_cond_broadcast(&changed);
  }
  pthread_mutex_unlock(&lock);
  return NULL;
}

static struct stream *new_stream(struct context *context, int blocking) {
  struct stream *stream = calloc(1, sizeof *stream);
  stream->context = context;
  stream->blocking = blocking;
  pthread_create(&stream->thread, NULL, run_stream, stream);
  pthread_detach(stream->thread);
  return stream;
}

static struct stream *stream_of(struct stream *handle) {
  return (uintptr_t)handle <= 1 ? current->legacy : handle;
}

static struct op *new_op(Action *run) {
  struct op *op = calloc(1, sizeof *op);
  op->run = run;
  return op;
}

static void depend(struct op *op, struct stream *stream, uint64_t sequence) {
  if (stream && stream->done < sequence && op->dependency_count < MAX_DEPENDENCIES)
    op->dependencies[op->dependency_count++] = (struct dependency){stream, sequence};
}

/* Under the lock; returns the operation's sequence number. Streams are never freed. */
static uint64_t submit_locked(struct stream *stream, struct op *op) {
  struct context *context = stream->context;
  if (stream == context->legacy) {
    for (struct stream *s = context->streams; s; s = s->next)
      if (s->blocking) depend(op, s, s->issued);
  } else if (stream->blocking) {
    depend(op, context->legacy, context->legacy->issued);
  }
  if (stream->tail) stream->tail->next = op; else stream->head = op;
  stream->tail = op;
  stream->issued++;
  pthread_cond_broadcast(&changed);
  return stream->issued;
}

static Result submit(struct stream *handle, struct op *op) {
  pthread_mutex_lock(&lock);
  submit_locked(stream_of(handle), op);
  pthread_mutex_unlock(&lock);
  return SUCCESS;
}

static int is_done(struct dependency point) {
  return !point.stream || point.stream->done >= point.sequence;
}

static void nothing(struct op *op) { (void)op; }

static struct dependency end_of(struct stream *stream) {
  /* The legacy stream is where all blocking streams are: an empty operation gathers them. */
  if (stream == stream->context->legacy)
    return (struct dependency){stream, submit_locked(stream, new_op(nothing))};
  return (struct dependency){stream, stream->issued};
}

Result cuStreamCreateWithPriority(struct stream **out, unsigned flags, int priority) {
  Result result = usable();
  if (result) return result;
  struct stream *stream = new_stream(current, !(flags & 1));
  stream->priority = priority;
  pthread_mutex_lock(&lock);
  stream->next = current->streams;
  current->streams = stream;
  pthread_mutex_unlock(&lock);
  *out = stream;
  return SUCCESS;
}

Result cuStreamDestroy_v2(struct stream *stream) {
  pthread_mutex_lock(&lock);
  for (struct stream **s = &stream->context->streams; *s; s = &(*s)->next)
    if (*s == stream) { *s = stream->next; break; }
  stream->dying = 1;
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&lock);
  return SUCCESS;
}

static Result query(struct dependency point, struct context *context) {
  if (in_host_function) return NOT_PERMITTED;
  return !is_done(point) ? NOT_READY : context->fault;
}

Result cuStreamQuery(struct stream *handle) {
  Result result = usable();
  if (result) return result;
  pthread_mutex_lock(&lock);
  struct stream *stream = stream_of(handle);
  result = SUCCESS;
  if (stream->done < stream->issued) result = NOT_READY;
  if (stream == current->legacy)
    for (struct stream *s = current->streams; s; s = s->next)
      if (s->blocking && s->done < s->issued) result = NOT_READY;
  if (!result) result = current->fault;
  pthread_mutex_unlock(&lock);
  return result;
}

/* As the driver's, what kernels printed comes out when somebody waits for them. */
static int printed, asserted;

static Result await(struct dependency point, struct context *context) {
  if (in_host_function) return NOT_PERMITTED;
  pthread_mutex_lock(&lock);
  while (!is_done(point)) pthread_cond_wait(&changed, &lock);
  for (; printed > 0; printed--) printf("hello from the device\n");
  for (; asserted > 0; asserted--) fprintf(stderr, "kernel.cu:7: Assertion `false` failed.\n");
  pthread_mutex_unlock(&lock);
  return context->fault;
}

Result cuStreamSynchronize(struct stream *handle) {
  Result result = usable();
  if (result && !(current && current->fault == result)) return result;
  pthread_mutex_lock(&lock);
  struct dependency point = end_of(stream_of(handle));
  pthread_mutex_unlock(&lock);
  return await(point, current);
}

Result cuStreamWaitEvent(struct stream *handle, struct event *event, unsigned flags) {
  (void)flags;
  Result result = usable();
  if (result) return result;
  struct op *op = new_op(nothing);
  pthread_mutex_lock(&lock);
  depend(op, event->point.stream, event->point.sequence);
  submit_locked(stream_of(handle), op);
  pthread_mutex_unlock(&lock);
  return SUCCESS;
}

static void call_host_function(struct op *op) {
  in_host_function = 1;
  if (op->a)
    ((void (*)(struct stream *, Result, void *))op->f)((void *)op->b, (Result)((struct stream *)op->c)->context->fault, op->user);
  else
    ((void (*)(void *))op->f)(op->user);
  in_host_function = 0;
}

Result cuLaunchHostFunc(struct stream *handle, void *function, void *user) {
  Result result = usable();
  if (result) return result;
  struct op *op = new_op(call_host_function);
  op->f = function;
  op->user = user;
  return submit(handle, op);
}

Result cuStreamAddCallback(struct stream *handle, void *function, void *user, unsigned flags) {
  (void)flags;
  Result result = usable();
  if (result) return result;
  struct op *op = new_op(call_host_function);
  op->f = function;
  op->user = user;
  op->a = 1;
  op->b = (uintptr_t)handle;
  op->c = (uintptr_t)stream_of(handle);
  op->even_after_fault = 1;
  return submit(handle, op);
}

/* Events */

Result cuEventCreate(struct event **out, unsigned flags) {
  (void)flags;
  Result result = usable();
  if (result) return result;
  *out = calloc(1, sizeof **out);
  (*out)->context = current;
  return SUCCESS;
}

/* Events stay: an operation under way may still write to one. */
Result cuEventDestroy_v2(struct event *event) { (void)event; return SUCCESS; }

static void stamp(struct op *op) { ((struct event *)op->f)->nanos = now(); }

Result cuEventRecord(struct event *event, struct stream *handle) {
  Result result = usable();
  if (result) return result;
  if (event->context->home != current->home) return INVALID_HANDLE;
  struct op *op = new_op(stamp);
  op->f = event;
  op->even_after_fault = 1;
  pthread_mutex_lock(&lock);
  struct stream *stream = stream_of(handle);
  event->point = (struct dependency){stream, submit_locked(stream, op)};
  pthread_mutex_unlock(&lock);
  return SUCCESS;
}

Result cuEventQuery(struct event *event) { return query(event->point, event->context); }

/* Prints nothing for an event that is reached already. */
Result cuEventSynchronize(struct event *event) {
  pthread_mutex_lock(&lock);
  int done = is_done(event->point);
  pthread_mutex_unlock(&lock);
  return done ? event->context->fault : await(event->point, event->context);
}

Result cuEventElapsedTime(float *milliseconds, struct event *start, struct event *end) {
  if (!start->point.stream || !end->point.stream) return INVALID_HANDLE;
  if (!is_done(start->point) || !is_done(end->point)) return NOT_READY;
  *milliseconds = (float)((double)(int64_t)(end->nanos - start->nanos) / 1e6);
  return start->context->fault;
}

/* Contexts */

static struct context *new_context(int device) {
  struct context *context = calloc(1, sizeof *context);
  context->device = device;
  context->home = context;
  context->legacy = new_stream(context, 1);
  return context;
}

Result cuDevicePrimaryCtxRetain(struct context **out, int device) {
  if (check_device(device)) return INVALID_DEVICE;
  pthread_mutex_lock(&lock);
  if (!primary[device]) primary[device] = new_context(device);
  retained[device]++;
  *out = primary[device];
  pthread_mutex_unlock(&lock);
  return SUCCESS;
}

Result cuDevicePrimaryCtxRelease_v2(int device) {
  if (check_device(device)) return INVALID_DEVICE;
  pthread_mutex_lock(&lock);
  Result result = retained[device] ? SUCCESS : INVALID_CONTEXT;
  if (!result && --retained[device] == 0) primary[device] = NULL;
  pthread_mutex_unlock(&lock);
  return result;
}

/* TESTCUDA_AFTER_FAULT: "stays", and resets do not help; "hangs", and contexts do not go down. */
static int after_fault(const char *what) {
  const char *wanted = getenv("TESTCUDA_AFTER_FAULT");
  return wanted && !strcmp(wanted, what);
}

/* Its streams are no part of it any more, even those that stand still for ever. */
Result cuDevicePrimaryCtxReset_v2(int device) {
  if (check_device(device)) return INVALID_DEVICE;
  while (primary[device] && primary[device]->fault && after_fault("hangs")) pause();
  pthread_mutex_lock(&lock);
  struct context *context = primary[device];
  if (context && context->fault && after_fault("stays")) {
    pthread_mutex_unlock(&lock);
    return context->fault;
  }
  if (context) {
    context->fault = 0;
    context->streams = NULL;
    context->legacy = new_stream(context, 1);
  }
  pthread_mutex_unlock(&lock);
  return SUCCESS;
}

Result cuCtxCreate_v2(struct context **out, unsigned flags, int device) {
  (void)flags;
  if (check_device(device)) return INVALID_DEVICE;
  *out = current = new_context(device);
  return SUCCESS;
}

Result cuCtxDestroy_v2(struct context *context) {
  while (context->fault && after_fault("hangs")) pause();
  if (current == context) current = NULL;
  return SUCCESS;
}

Result cuCtxSetCurrent(struct context *context) { current = context; return SUCCESS; }

/* Green contexts: contexts of their own here. Of 16 multiprocessors a resource has some. */
struct resource {
  int type;
  unsigned char own[92];
  unsigned count, least, alignment;
  unsigned char more[36];
};

struct green {
  struct context *context;
  struct resource resource;
};

Result cuDeviceGetDevResource(int device, struct resource *out, int type) {
  if (check_device(device)) return INVALID_DEVICE;
  if (type != 1) return 914;
  memset(out, 0, sizeof *out);
  *out = (struct resource){.type = 1, .own = {(unsigned char)(0xA0 + device)}, .count = 16, .least = 4, .alignment = 2};
  return SUCCESS;
}

Result cuDevSmResourceSplitByCount(struct resource *out, unsigned *groups, const struct resource *in,
                                   struct resource *remaining, unsigned flags, unsigned least) {
  if (in->type != 1 || (in->own[0] & 0xF0) != 0xA0) return 914;
  if (flags > 3 || least > in->count) return INVALID_VALUE;
  unsigned size = least < 4 ? 4 : (least + 1) & ~1u, made = in->count / size;
  if (out && made > *groups) made = *groups;
  *groups = made;
  for (unsigned i = 0; out && i < made; i++) {
    out[i] = *in;
    out[i].own[1] = (unsigned char)(1 + i);
    out[i].count = size;
  }
  if (remaining) {
    *remaining = *in;
    remaining->count -= made * size;
  }
  return SUCCESS;
}

Result cuDevResourceGenerateDesc(struct resource **out, const struct resource *resources, unsigned count) {
  *out = calloc(1, sizeof **out);
  **out = resources[0];
  for (unsigned i = 1; i < count; i++) (*out)->count += resources[i].count;
  return SUCCESS;
}

Result cuGreenCtxCreate(struct green **out, const struct resource *description, int device, unsigned flags) {
  if (flags != 1 || description->own[0] != 0xA0 + device) return INVALID_VALUE;
  *out = calloc(1, sizeof **out);
  (*out)->resource = *description;
  (*out)->context = new_context(device);
  pthread_mutex_lock(&lock);
  (*out)->context->home = primary[device];
  retained[device]++;
  pthread_mutex_unlock(&lock);
  return SUCCESS;
}

Result cuGreenCtxDestroy(struct green *green) { return cuDevicePrimaryCtxRelease_v2(green->context->device); }

Result cuCtxFromGreenCtx(struct context **out, struct green *green) { *out = green->context; return SUCCESS; }

Result cuGreenCtxGetDevResource(struct green *green, struct resource *out, int type) {
  *out = green->resource;
  return type == 1 ? SUCCESS : 914;
}

Result cuCtxGetDevResource(struct context *context, struct resource *out, int type) {
  return cuDeviceGetDevResource(context->device, out, type);
}

Result cuCtxSynchronize(void) {
  Result result = usable();
  for (struct stream *s = current ? current->streams : NULL; s && !result; s = s->next)
    result = cuStreamSynchronize(s);
  return result ? result : cuStreamSynchronize(NULL);
}

Result cuCtxGetLimit(size_t *value, int limit) { *value = (size_t)limit * 1024; return usable(); }
Result cuCtxSetLimit(int limit, size_t value) { (void)limit; (void)value; return usable(); }

/* Memory */

static int is_allocated(Address address, size_t size) {
  pthread_mutex_lock(&lock);
  struct allocation *a = allocations;
  while (a && !(address >= a->address && size <= a->size && address - a->address <= a->size - size))
    a = a->next;
  pthread_mutex_unlock(&lock);
  return a != NULL;
}

Result cuMemAlloc_v2(Address *out, size_t size) {
  Result result = usable();
  if (result) return result;
  if (!size) return INVALID_VALUE;
  pthread_mutex_lock(&lock);
  int device = current->device;
  if (size > memory_size() - used[device]) {
    pthread_mutex_unlock(&lock);
    return OUT_OF_MEMORY;
  }
  struct allocation *a = malloc(sizeof *a);
  *a = (struct allocation){(Address)(uintptr_t)calloc(1, size), size, device, allocations, NULL};
  allocations = a;
  used[device] += size;
  pthread_mutex_unlock(&lock);
  *out = a->address;
  return SUCCESS;
}

Result cuMemAllocPitch_v2(Address *out, size_t *pitch, size_t width, size_t height, unsigned element) {
  (void)element;
  *pitch = (width + 511) & ~(size_t)511;
  return cuMemAlloc_v2(out, *pitch * height);
}

static void pool_freed(struct pool *pool, size_t size);

/* Under the lock. */
static Result drop_allocation(Address address) {
  for (struct allocation **a = &allocations; *a; a = &(*a)->next)
    if ((*a)->address == address) {
      struct allocation *gone = *a;
      *a = gone->next;
      used[gone->device] -= gone->size;
      if (gone->pool) pool_freed(gone->pool, gone->size);
      free((void *)(uintptr_t)address);
      free(gone);
      return SUCCESS;
    }
  return INVALID_VALUE;
}

/* Waits for all streams, as the driver does. */
Result cuMemFree_v2(Address address) {
  count_call();
  if (!address) return SUCCESS;
  Result result = cuCtxSynchronize();
  if (result) return result;
  pthread_mutex_lock(&lock);
  result = drop_allocation(address);
  pthread_mutex_unlock(&lock);
  return result;
}

Result cuMemAllocAsync(Address *out, size_t size, struct stream *stream) {
  (void)stream;
  return cuMemAlloc_v2(out, size);
}

static void free_in_turn(struct op *op) {
  pthread_mutex_lock(&lock);
  drop_allocation(op->a);
  pthread_mutex_unlock(&lock);
}

Result cuMemFreeAsync(Address address, struct stream *stream) {
  count_call();
  Result result = usable();
  if (result) return result;
  if (!is_allocated(address, 1)) return INVALID_VALUE;
  struct op *op = new_op(free_in_turn);
  op->a = address;
  op->even_after_fault = 1;
  return submit(stream, op);
}

Result cuMemGetInfo_v2(size_t *free_bytes, size_t *total) {
  Result result = usable();
  if (result) return result;
  *total = memory_size();
  *free_bytes = *total - used[current->device];
  return SUCCESS;
}

/* Page-locked memory, of which streams may wait for words. */
static struct { char *begin; size_t size; } pinned[4096];
static pthread_mutex_t pinned_lock = PTHREAD_MUTEX_INITIALIZER;

static int is_pinned(Address address, size_t size) {
  int found = 0;
  pthread_mutex_lock(&pinned_lock);
  for (int i = 0; i < 4096 && !found; i++) {
    Address begin = (Address)(uintptr_t)pinned[i].begin;
    found = begin && address >= begin && address + size <= begin + pinned[i].size;
  }
  pthread_mutex_unlock(&pinned_lock);
  return found;
}

/* Takes note of a range in place of another, either of which may be none. */
static void note_pinned(char *before, char *begin, size_t size) {
  pthread_mutex_lock(&pinned_lock);
  for (int i = 0; i < 4096; i++) {
    if (pinned[i].begin != before) continue;
    pinned[i].begin = begin;
    pinned[i].size = size;
    break;
  }
  pthread_mutex_unlock(&pinned_lock);
}

Result cuMemHostAlloc(void **out, size_t size, unsigned flags) {
  (void)flags;
  *out = aligned_alloc(4096, (size + 4095) & ~(size_t)4095);
  if (*out) note_pinned(NULL, *out, size);
  return *out ? usable() : OUT_OF_MEMORY;
}

Result cuMemFreeHost(void *memory) {
  note_pinned(memory, NULL, 0);
  free(memory);
  return SUCCESS;
}

/* Arrays: rows one after the other, in memory that counts. A mipmapped array is its levels. */

struct array {
  size_t width, height, depth, element;
  Address memory;
};

struct descriptor {
  size_t width, height, depth;
  int format;
  unsigned channels, flags;
};

struct mipmap {
  unsigned levels;
  struct array *level[16];
};

static size_t at_least_one(size_t extent) { return extent ? extent : 1; }

static Result new_array(struct array **out, const struct descriptor *d, unsigned level) {
  struct array *array = calloc(1, sizeof *array);
  *array = (struct array){at_least_one(d->width >> level), at_least_one(d->height >> level),
                          at_least_one(d->depth >> level), d->channels, 0};
  array->element *= d->format == 1 || d->format == 8 ? 1 : d->format == 2 || d->format == 9 ? 2 : 4;
  Result result = cuMemAlloc_v2(&array->memory, array->width * array->height * array->depth * array->element);
  if (result) { free(array); return result; }
  *out = array;
  return SUCCESS;
}

Result cuArray3DCreate_v2(struct array **out, const struct descriptor *descriptor) {
  return descriptor->width ? new_array(out, descriptor, 0) : INVALID_VALUE;
}

Result cuArrayDestroy(struct array *array) {
  Result result = cuMemFree_v2(array->memory);
  if (!result) free(array);
  return result;
}

Result cuMipmappedArrayCreate(struct mipmap **out, const struct descriptor *descriptor, unsigned levels) {
  if (!levels || levels > 16 || !descriptor->width) return INVALID_VALUE;
  struct mipmap *mipmap = calloc(1, sizeof *mipmap);
  Result result = SUCCESS;
  for (mipmap->levels = 0; mipmap->levels < levels && !result; mipmap->levels++)
    result = new_array(&mipmap->level[mipmap->levels], descriptor, mipmap->levels);
  *out = mipmap;
  return result;
}

Result cuMipmappedArrayGetLevel(struct array **out, struct mipmap *mipmap, unsigned level) {
  if (level >= mipmap->levels) return INVALID_VALUE;
  *out = mipmap->level[level];
  return SUCCESS;
}

Result cuMipmappedArrayDestroy(struct mipmap *mipmap) {
  Result result = SUCCESS;
  for (unsigned i = 0; i < mipmap->levels && !result; i++) result = cuArrayDestroy(mipmap->level[i]);
  free(mipmap);
  return result;
}

/* CUDA_MEMCPY3D */
struct side {
  size_t x, y, z, lod;
  int type;
  void *host;
  Address device;
  struct array *array;
  void *reserved;
  size_t pitch, rows;
};

struct box {
  struct side from, to;
  size_t width, height, depth;
};

static char *row_of(const struct side *side, size_t y, size_t z) {
  size_t pitch = side->pitch, rows = side->rows;
  char *memory = side->type == 1 ? side->host : (char *)(uintptr_t)side->device;
  if (side->type == 3) {
    pitch = side->array->width * side->array->element;
    rows = side->array->height;
    memory = (char *)(uintptr_t)side->array->memory;
  }
  return memory + ((side->z + z) * rows + side->y + y) * pitch + side->x;
}

static void copy_box(struct op *op) {
  struct box *box = op->f;
  for (size_t z = 0; z < box->depth; z++)
    for (size_t y = 0; y < box->height; y++)
      memmove(row_of(&box->to, y, z), row_of(&box->from, y, z), box->width);
  free(box);
}

static int is_side_good(const struct side *side, const struct box *box) {
  if (side->type == 3)
    return side->x + box->width <= side->array->width * side->array->element &&
           side->y + box->height <= side->array->height && side->z + box->depth <= side->array->depth;
  if (side->type == 1) return 1;
  char *first = row_of(side, 0, 0), *last = row_of(side, box->height - 1, box->depth - 1);
  return last >= first && is_allocated((Address)(uintptr_t)first, (size_t)(last - first) + box->width);
}

Result cuMemcpy3DAsync_v2(const struct box *description, struct stream *stream) {
  count_call();
  Result result = usable();
  if (result) return result;
  if (!is_side_good(&description->from, description) || !is_side_good(&description->to, description))
    return INVALID_VALUE;
  struct op *op = new_op(copy_box);
  op->f = malloc(sizeof *description);
  memcpy(op->f, description, sizeof *description);
  return submit(stream, op);
}

/* Texture objects are numbers; surface objects, too. */
static uint64_t objects;

Result cuTexObjectCreate(uint64_t *out, const void *resource, const void *texture, const void *view) {
  count_call();
  (void)view;
  if (!resource || !texture) return INVALID_VALUE;
  *out = __atomic_add_fetch(&objects, 1, __ATOMIC_RELAXED);
  return usable();
}

Result cuTexObjectDestroy(uint64_t object) { return object ? usable() : INVALID_VALUE; }

Result cuSurfObjectCreate(uint64_t *out, const int *resource) {
  count_call();
  if (*resource) return INVALID_VALUE;
  *out = __atomic_add_fetch(&objects, 1, __ATOMIC_RELAXED);
  return usable();
}

Result cuSurfObjectDestroy(uint64_t object) { return object ? usable() : INVALID_VALUE; }

/* Tensor maps hold what they were made of, an address first. */
Result cuTensorMapEncodeTiled(uint64_t *map, int type, uint32_t rank, uint64_t address, const uint64_t *dims,
                              const uint64_t *strides, const uint32_t *box, const uint32_t *steps,
                              int interleave, int swizzle, int promotion, int fill) {
  if ((uintptr_t)map % 64 || !rank || rank > 5 || address % 16) return INVALID_VALUE;
  map[0] = address;
  map[1] = (uint64_t)type << 32 | rank;
  for (uint32_t d = 0; d < rank; d++) map[2 + d] = dims[d];
  for (uint32_t d = 0; d + 1 < rank; d++) map[7 + d] = strides[d];
  map[11] = (uint64_t)box[0] << 32 | steps[rank - 1];
  map[12] = (uint64_t)interleave << 48 | (uint64_t)swizzle << 32 | (uint64_t)promotion << 16 | (uint64_t)fill;
  return usable();
}

Result cuTensorMapEncodeIm2col(uint64_t *map, int type, uint32_t rank, uint64_t address, const uint64_t *dims,
                               const uint64_t *strides, const int *lower, const int *upper, uint32_t channels,
                               uint32_t pixels, const uint32_t *steps, int interleave, int swizzle, int promotion,
                               int fill) {
  const uint32_t box[] = {channels, pixels};
  Result result = cuTensorMapEncodeTiled(map, type, rank, address, dims, strides, box, steps, interleave, swizzle,
                                         promotion, fill);
  map[13] = (uint64_t)(uint32_t)lower[rank - 3] << 32 | (uint32_t)upper[rank - 3];
  map[14] = pixels;
  return result;
}

Result cuTensorMapReplaceAddress(uint64_t *map, uint64_t address) {
  count_call();
  if (address % 16) return INVALID_VALUE;
  map[0] = address;
  return usable();
}

/* References: one of each kind, which is called "plane" or "canvas" and takes these values alone. */
enum { FORMAT_FLOAT = 0x20, BORDER_MODE = 3 };

struct plane {
  size_t width, height;
  int format;
  unsigned channels;
};

static char plane, canvas;

static Result expect(int good) { return good ? usable() : INVALID_VALUE; }

Result cuModuleGetTexRef(void **out, struct module *module, const char *name) {
  if (!module || strcmp(name, "plane") != 0) return NOT_FOUND;
  *out = &plane;
  return usable();
}

Result cuModuleGetSurfRef(void **out, struct module *module, const char *name) {
  if (!module || strcmp(name, "canvas") != 0) return NOT_FOUND;
  *out = &canvas;
  return usable();
}

Result cuTexRefSetFormat(void *reference, int format, int channels) {
  return expect(reference == &plane && format == FORMAT_FLOAT && channels == 2);
}

Result cuTexRefSetAddressMode(void *reference, int dimension, int mode) {
  return expect(reference == &plane && dimension == 1 && mode == BORDER_MODE);
}

Result cuTexRefSetFilterMode(void *reference, int mode) { return expect(reference == &plane && mode == 1); }

Result cuTexRefSetFlags(void *reference, unsigned flags) { return expect(reference == &plane && flags == 2); }

Result cuTexRefSetMaxAnisotropy(void *reference, unsigned most) { return expect(reference == &plane && most == 8); }

Result cuTexRefSetMipmapFilterMode(void *reference, int mode) { return expect(reference == &plane && mode == 1); }

Result cuTexRefSetMipmapLevelBias(void *reference, float bias) { return expect(reference == &plane && bias == 0.5f); }

Result cuTexRefSetMipmapLevelClamp(void *reference, float least, float most) {
  return expect(reference == &plane && least == 1.5f && most == 2.5f);
}

Result cuTexRefSetBorderColor(void *reference, const float *color) {
  return expect(reference == &plane && color[0] == 1 && color[1] == 2 && color[2] == 3 && color[3] == 4);
}

Result cuTexRefSetArray(void *reference, struct array *array, unsigned flags) {
  count_call();
  return expect(reference == &plane && array->width == 16 && flags == 1);
}

Result cuTexRefSetAddress_v2(size_t *offset, void *reference, Address address, size_t bytes) {
  count_call();
  *offset = 0;
  return expect(reference == &plane && (address ? is_allocated(address, 64) && bytes == 64 : bytes == 0));
}

Result cuTexRefSetAddress2D_v3(void *reference, const struct plane *description, Address address, size_t pitch) {
  count_call();
  return expect(reference == &plane && description->width == 7 && description->height == 5 &&
                description->format == FORMAT_FLOAT && description->channels == 2 && is_allocated(address, 5 * 64) && pitch == 64);
}

Result cuSurfRefSetArray(void *reference, struct array *array, unsigned flags) {
  return expect(reference == &canvas && array->width == 16 && flags == 0);
}

Result cuDeviceGetDefaultMemPool(void **pool, int device) {
  *pool = (void *)(uintptr_t)(0x100 + device);
  return check_device(device);
}

static void copy(struct op *op) {
  memmove((void *)op->a, (void *)op->b, op->c);
  free(op->user);
}

static Result copy_async(struct stream *stream, Address target, Address source, size_t size, void *staged) {
  struct op *op = new_op(copy);
  op->user = staged;
  op->a = target;
  op->b = source;
  op->c = size;
  return submit(stream, op);
}

Result cuMemcpyHtoDAsync_v2(Address target, void *source, size_t size, struct stream *stream) {
  count_call();
  Result result = usable();
  if (result) return result;
  if (!is_allocated(target, size)) return INVALID_VALUE;
  if (size > 65536) return copy_async(stream, target, (uintptr_t)source, size, NULL);
  /* What is short has been read when this returns. */
  void *staged = malloc(size + 1);
  memcpy(staged, source, size);
  return copy_async(stream, target, (uintptr_t)staged, size, staged);
}

Result cuMemcpyDtoHAsync_v2(void *target, Address source, size_t size, struct stream *stream) {
  count_call();
  Result result = usable();
  if (result) return result;
  return is_allocated(source, size) ? copy_async(stream, (uintptr_t)target, source, size, NULL) : INVALID_VALUE;
}

Result cuMemcpyDtoDAsync_v2(Address target, Address source, size_t size, struct stream *stream) {
  count_call();
  Result result = usable();
  if (result) return result;
  if (!is_allocated(target, size) || !is_allocated(source, size)) return INVALID_VALUE;
  return copy_async(stream, target, source, size, NULL);
}

static void set(struct op *op) {
  for (uint64_t i = 0; i < op->b; i++)
    memcpy((char *)op->a + i * op->d, &op->c, op->d);
}

static Result set_async(struct stream *stream, Address target, unsigned value, size_t count, size_t width) {
  count_call();
  Result result = usable();
  if (result) return result;
  if (!is_allocated(target, count * width)) return INVALID_VALUE;
  struct op *op = new_op(set);
  op->a = target;
  op->b = count;
  op->c = value;
  op->d = width;
  return submit(stream, op);
}

Result cuMemsetD8Async(Address target, unsigned char value, size_t count, struct stream *stream) {
  return set_async(stream, target, value, count, 1);
}

Result cuMemsetD16Async(Address target, unsigned short value, size_t count, struct stream *stream) {
  return set_async(stream, target, value, count, 2);
}

Result cuMemsetD32Async(Address target, unsigned value, size_t count, struct stream *stream) {
  return set_async(stream, target, value, count, 4);
}

/* Modules */

static void say(unsigned count, int *keys, void **values, int key, const char *text) {
  for (unsigned i = 0; i + 1 < count; i++)
    if (keys[i] == key && (uintptr_t)values[i + 1] > 0)
      snprintf(values[i], (uintptr_t)values[i + 1], "%s", text);
}

/* Fat binaries that are to be linked, each of one entry with an image of this driver's. */
struct fat_binary {
  uint32_t magic, header;
  uint64_t body;
  uint32_t kind, entry_header;
  uint64_t bytes, rest[6];
  char image[];
};

struct wrapper {
  uint32_t magic, version;
  struct fat_binary *first, **others;
};

static const char *link_binaries(const struct wrapper *wrapper, char *text) {
  memcpy(text, wrapper->first->image, wrapper->first->bytes);
  text[wrapper->first->bytes] = 0;
  for (int i = 0; wrapper->others[i]; i++) strncat(text, wrapper->others[i]->image + 9, wrapper->others[i]->bytes - 9);
  return text;
}

/* With room for as many functions as the image has such words. */
static struct module *new_module(const char *image, const char *word) {
  struct module *module = calloc(1, sizeof *module);
  size_t count = 1;
  for (const char *at = image; (at = strstr(at, word)); at++) count++;
  module->functions = calloc(count, sizeof *module->functions);
  return module;
}

/* PTX, of which the kernels' names matter; they have no parameters. */
static struct module *load_ptx(const char *image) {
  static const char entry[] = ".entry ";
  struct module *module = new_module(image, entry);
  for (const char *at = image; (at = strstr(at, entry));) {
    struct function *f = &module->functions[module->function_count++];
    at += sizeof entry - 1;
    f->module = module;
    snprintf(f->name, sizeof f->name, "%.*s", (int)strcspn(at, "( \n"), at);
  }
  return module;
}

Result cuModuleLoadDataEx(struct module **out, const char *image, unsigned count, int *keys, void **values) {
  count_call();
  Result result = usable();
  char linked[4096];
  if (result) return result;
  if (*(const uint32_t *)image == 0x466243B1) image = link_binaries((const struct wrapper *)image, linked);
  if (!strncmp(image, ".version", 8)) {
    *out = load_ptx(image);
    return SUCCESS;
  }
  if (strncmp(image, "testcuda\n", 9)) {
    say(count, keys, values, 5, "not an image of the test driver");
    return INVALID_IMAGE;
  }
  struct module *module = new_module(image, "kernel ");
  char *text = strdup(image + 9), *rest = text, *line;
  while ((line = strsep(&rest, "\n"))) {
    char *words = line, *kind = strsep(&words, " "), *name = strsep(&words, " "), *word;
    if (!name) continue;
    if (!strcmp(kind, "kernel")) {
      struct function *f = &module->functions[module->function_count++];
      f->module = module;
      snprintf(f->name, sizeof f->name, "%s", name);
      while ((word = strsep(&words, " "))) f->sizes[f->parameter_count++] = strtoul(word, NULL, 10);
    } else {
      struct global *g = &module->globals[module->global_count++];
      snprintf(g->name, sizeof g->name, "%s", name);
      g->size = strtoul(words, NULL, 10);
      result = cuMemAlloc_v2(&g->address, g->size);
    }
  }
  free(text);
  say(count, keys, values, 3, "loaded");
  *out = module;
  return result;
}

Result cuModuleUnload(struct module *module) {
  for (int i = 0; i < module->global_count; i++) cuMemFree_v2(module->globals[i].address);
  free(module->functions);
  free(module);
  return SUCCESS;
}

Result cuModuleGetFunctionCount(unsigned *count, struct module *module) {
  *count = (unsigned)module->function_count;
  return SUCCESS;
}

Result cuModuleEnumerateFunctions(struct function **functions, unsigned count, struct module *module) {
  for (unsigned i = 0; i < count; i++) functions[i] = &module->functions[i];
  return SUCCESS;
}

Result cuModuleGetFunction(struct function **out, struct module *module, const char *name) {
  for (int i = 0; i < module->function_count; i++)
    if (!strcmp(module->functions[i].name, name)) {
      *out = &module->functions[i];
      return usable();
    }
  return NOT_FOUND;
}

Result cuModuleGetGlobal_v2(Address *address, size_t *size, struct module *module, const char *name) {
  for (int i = 0; i < module->global_count; i++)
    if (!strcmp(module->globals[i].name, name)) {
      if (address) *address = module->globals[i].address;
      if (size) *size = module->globals[i].size;
      return usable();
    }
  return NOT_FOUND;
}

Result cuFuncGetName(const char **name, struct function *f) { *name = f->name; return SUCCESS; }

Result cuFuncGetParamInfo(struct function *f, size_t index, size_t *offset, size_t *size) {
  load_function(f);
  if (index >= (size_t)f->parameter_count) return INVALID_VALUE;
  *offset = 0;
  for (size_t i = 0; i <= index; i++) {
    size_t align = f->sizes[i] > 8 ? 8 : f->sizes[i];
    *offset = (*offset + align - 1) / align * align + (i < index ? f->sizes[i] : 0);
  }
  *size = f->sizes[index];
  return SUCCESS;
}

Result cuFuncGetAttribute(int *value, int attribute, struct function *f) {
  load_function(f);
  *value = 1000 + attribute;
  return usable();
}

Result cuFuncSetAttribute(struct function *f, int attribute, int value) {
  (void)f; (void)attribute;
  return value < 0 ? INVALID_VALUE : SUCCESS;
}

Result cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, struct function *f, int block_size, size_t shared) {
  (void)f; (void)shared;
  *blocks = block_size > 0 ? 2048 / block_size : 0;
  return usable();
}

/* Launches */

static void run_kernel(struct op *op) {
  struct function *f = op->f;
  char *p = op->user;
  uint64_t u[4] = {0};
  memcpy(u, p, op->a < sizeof u ? op->a : sizeof u);
  if (!strcmp(f->name, "fill")) {
    uint32_t n, v;
    memcpy(&n, p + 8, 4);
    memcpy(&v, p + 12, 4);
    if (is_allocated(u[0], n * 4ull))
      for (uint32_t i = 0; i < n; i++) ((uint32_t *)u[0])[i] = v;
    else
      ((struct context *)op->b)->fault = ILLEGAL_ADDRESS;
  } else if (!strcmp(f->name, "add")) {
    for (uint32_t i = 0; i < (uint32_t)u[3]; i++)
      ((float *)u[2])[i] = ((float *)u[0])[i] + ((float *)u[1])[i];
  } else if (!strcmp(f->name, "sleep")) {
    usleep((useconds_t)u[0]);
  } else if (!strcmp(f->name, "print")) {
    pthread_mutex_lock(&lock);
    printed++;
    pthread_mutex_unlock(&lock);
  } else if (!strcmp(f->name, "assert")) {
    pthread_mutex_lock(&lock);
    asserted++;
    ((struct context *)op->b)->fault = ASSERT;
    pthread_mutex_unlock(&lock);
  } else if (!strcmp(f->name, "fault")) {
    ((struct context *)op->b)->fault = ILLEGAL_ADDRESS;
  }
  free(p);
}

Result cuLaunchKernel(struct function *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                      unsigned bz, unsigned shared, struct stream *stream, void **parameters, void **extra) {
  count_call();
  Result result = usable();
  (void)shared;
  if (result) return result;
  if (!gx || !gy || !gz || !bx || !by || !bz || bx * by * bz > 1024) return INVALID_VALUE;
  if (parameters || !extra || extra[0] != (void *)1 || extra[2] != (void *)2) return INVALID_VALUE;
  size_t size = *(size_t *)extra[3];
  load_function(f);
  struct op *op = new_op(run_kernel);
  op->f = f;
  op->user = calloc(1, size + 32);
  memcpy(op->user, extra[1], size);
  op->a = size;
  op->b = (uintptr_t)current;
  return submit(stream, op);
}

struct config {
  unsigned grid[3], block[3], shared;
  struct stream *stream;
  unsigned *attributes, count;
};

Result cuLaunchKernelEx(struct config *c, struct function *f, void **parameters, void **extra) {
  count_call();
  for (unsigned i = 0; i < c->count; i++)
    if (c->attributes[i * 18] == 2 && c->attributes[i * 18 + 2] == 1 && c->grid[0] > 64) return 720;
  return cuLaunchKernel(f, c->grid[0], c->grid[1], c->grid[2], c->block[0], c->block[1], c->block[2], c->shared,
                        c->stream, parameters, extra);
}

/* Graphs: a launch puts the nodes into the stream in the order in which they were added. */

struct kernel_params {
  struct function *f;
  unsigned grid[3], block[3], shared;
  void **parameters, **extra;
  void *kernel, *context;
};

struct fill_params {
  Address address;
  size_t pitch;
  unsigned value, element;
  size_t width, height;
};

struct copy_side {
  size_t x, y, z, level;
  int type;
  void *host;
  Address device;
  void *array, *reserved;
  size_t pitch, height;
};

struct copy_params {
  struct copy_side source, target;
  size_t width, height, depth;
};

struct node {
  int kind, index, disabled;
  struct kernel_params kernel;
  size_t parameter_bytes;
  char parameters[256];
  struct copy_params copy;
  struct fill_params fill;
  struct event *event;
  struct condition *condition;
  unsigned type, bodies;
  struct graph *body[4];
};

struct graph {
  int count, is_body;
  struct node nodes[64];
};

/* Its handle is the address of the value, to which kernels write. */
struct condition {
  unsigned value, initial, flags;
};

/* CUgraphNodeParams of a conditional node */
struct conditional_params {
  unsigned kind, reserved[3];
  struct condition *condition;
  unsigned type, bodies;
  struct graph **graphs;
  struct context *context;
};

enum { KERNEL, COPY, FILL, EMPTY = 5, WAIT = 6, RECORD = 7, CONDITIONAL = 13 };

static struct graph *graph_of(struct node *node) {
  return (struct graph *)((char *)(node - node->index) - offsetof(struct graph, nodes));
}

/* The node of an executable graph; bodies are not copied with the graph they are in. */
static struct node *executed(struct graph *exec, struct node *node) {
  return graph_of(node)->is_body ? node : &exec->nodes[node->index];
}

Result cuGraphCreate(struct graph **out, unsigned flags) {
  *out = calloc(1, sizeof **out);
  return flags ? INVALID_VALUE : usable();
}

Result cuGraphDestroy(struct graph *graph) { free(graph); return SUCCESS; }

static Result add_node(struct node **out, struct graph *graph, struct node **dependencies, size_t count, struct node node) {
  for (size_t i = 0; i < count; i++) {
    if (dependencies[i] < graph->nodes || dependencies[i] >= graph->nodes + graph->count) return INVALID_VALUE;
  }
  if (graph->count == 64) return OUT_OF_MEMORY;
  node.index = graph->count;
  graph->nodes[graph->count] = node;
  *out = &graph->nodes[graph->count++];
  return usable();
}

static Result read_kernel(struct node *node, struct kernel_params *params) {
  if (params->parameters || params->extra[0] != (void *)1 || params->extra[2] != (void *)2) return INVALID_VALUE;
  node->kernel = *params;
  node->parameter_bytes = *(size_t *)params->extra[3];
  if (node->parameter_bytes > sizeof node->parameters) return INVALID_VALUE;
  memcpy(node->parameters, params->extra[1], node->parameter_bytes);
  return SUCCESS;
}

Result cuGraphAddKernelNode_v2(struct node **out, struct graph *graph, struct node **dependencies, size_t count,
                               struct kernel_params *params) {
  count_call();
  struct node node = {.kind = KERNEL};
  Result result = read_kernel(&node, params);
  return result ? result : add_node(out, graph, dependencies, count, node);
}

/* What cuda.h has as CU_KERNEL_NODE_ATTRIBUTE_*, except for nodes that kernels change. */
Result cuGraphKernelNodeSetAttribute(struct node *node, int id, const void *value) {
  if (node->kind != KERNEL || !value) return INVALID_VALUE;
  switch (id) {
    case 1: case 2: case 4: case 5: case 8: case 9: case 10: case 11: case 14: case 16:
      return SUCCESS;
    default:
      return INVALID_VALUE;
  }
}

/* Of memory of the device, without a trace of anything else. */
static int is_memory(const struct copy_side *side) {
  return side->type == 2 && !side->host && !side->array && !side->reserved && !side->level;
}

Result cuGraphAddMemcpyNode(struct node **out, struct graph *graph, struct node **dependencies, size_t count,
                            struct copy_params *params, struct context *context) {
  count_call();
  if (!context || !is_memory(&params->source) || !is_memory(&params->target)) return INVALID_VALUE;
  return add_node(out, graph, dependencies, count, (struct node){.kind = COPY, .copy = *params});
}

Result cuGraphAddMemsetNode(struct node **out, struct graph *graph, struct node **dependencies, size_t count,
                            struct fill_params *params, struct context *context) {
  count_call();
  if (!context || params->element != 4 || params->height != 1) return INVALID_VALUE;
  return add_node(out, graph, dependencies, count, (struct node){.kind = FILL, .fill = *params});
}

Result cuGraphAddEmptyNode(struct node **out, struct graph *graph, struct node **dependencies, size_t count) {
  return add_node(out, graph, dependencies, count, (struct node){.kind = EMPTY});
}

Result cuGraphAddEventRecordNode(struct node **out, struct graph *graph, struct node **dependencies, size_t count,
                                 struct event *event) {
  return add_node(out, graph, dependencies, count, (struct node){.kind = RECORD, .event = event});
}

Result cuGraphAddEventWaitNode(struct node **out, struct graph *graph, struct node **dependencies, size_t count,
                               struct event *event) {
  return add_node(out, graph, dependencies, count, (struct node){.kind = WAIT, .event = event});
}

Result cuGraphConditionalHandleCreate(struct condition **out, struct graph *graph, struct context *context, unsigned value,
                                      unsigned flags) {
  Address address;
  Result result = graph && context && flags <= 1 ? cuMemAlloc_v2(&address, sizeof **out) : INVALID_VALUE;
  if (result) return result;
  *out = (struct condition *)address;
  **out = (struct condition){.initial = value, .flags = flags};
  return SUCCESS;
}

Result cuGraphAddNode_v2(struct node **out, struct graph *graph, struct node **dependencies, void *data, size_t count,
                         struct conditional_params *params) {
  count_call();
  struct node node = {.kind = CONDITIONAL, .condition = params->condition, .type = params->type, .bodies = params->bodies};
  if (params->kind != CONDITIONAL || data || !params->context || params->bodies > 4) return INVALID_VALUE;
  for (unsigned i = 0; i < params->bodies; i++) {
    node.body[i] = calloc(1, sizeof(struct graph));
    node.body[i]->is_body = 1;
  }
  Result result = add_node(out, graph, dependencies, count, node);
  params->graphs = (*out)->body;
  return result;
}

Result cuGraphExecNodeSetParams(struct graph *exec, struct node *node, struct conditional_params *params) {
  count_call();
  executed(exec, node)->condition = params->condition;
  return params->kind == CONDITIONAL ? SUCCESS : INVALID_VALUE;
}

Result cuGraphDestroyNode(struct node *node) {
  struct graph *graph = graph_of(node);
  if (node->index != graph->count - 1) return INVALID_VALUE;
  graph->count--;
  return SUCCESS;
}

Result cuGraphInstantiateWithFlags(struct graph **out, struct graph *graph, unsigned long long flags) {
  *out = malloc(sizeof **out);
  **out = *graph;
  return flags & ~15ull ? INVALID_VALUE : usable();
}

Result cuGraphExecDestroy(struct graph *exec) { free(exec); return SUCCESS; }

Result cuGraphExecKernelNodeSetParams_v2(struct graph *exec, struct node *node, struct kernel_params *params) {
  count_call();
  return read_kernel(executed(exec, node), params);
}

Result cuGraphExecMemcpyNodeSetParams(struct graph *exec, struct node *node, struct copy_params *params,
                                      struct context *context) {
  count_call();
  if (!is_memory(&params->source) || !is_memory(&params->target)) return INVALID_VALUE;
  executed(exec, node)->copy = *params;
  return context ? SUCCESS : INVALID_VALUE;
}

Result cuGraphExecMemsetNodeSetParams(struct graph *exec, struct node *node, struct fill_params *params,
                                      struct context *context) {
  count_call();
  executed(exec, node)->fill = *params;
  return context ? SUCCESS : INVALID_VALUE;
}

Result cuGraphNodeSetEnabled(struct graph *exec, struct node *node, unsigned enabled) {
  executed(exec, node)->disabled = !enabled;
  return SUCCESS;
}

static Result run_conditional(struct node *node, struct stream *stream);

static Result run_node(struct node *node, struct stream *stream) {
  void *extra[] = {(void *)1, node->parameters, (void *)2, &node->parameter_bytes, NULL};
  struct kernel_params *k = &node->kernel;
  switch (node->disabled ? EMPTY : node->kind) {
    case KERNEL:
      return cuLaunchKernel(k->f, k->grid[0], k->grid[1], k->grid[2], k->block[0], k->block[1], k->block[2],
                            k->shared, stream, NULL, extra);
    case COPY:
      return cuMemcpyDtoDAsync_v2(node->copy.target.device, node->copy.source.device, node->copy.width, stream);
    case FILL:
      return cuMemsetD32Async(node->fill.address, node->fill.value, node->fill.width, stream);
    case WAIT:
      return cuStreamWaitEvent(stream, node->event, 0);
    case RECORD:
      return cuEventRecord(node->event, stream);
    case CONDITIONAL:
      return run_conditional(node, stream);
    default:
      return SUCCESS;
  }
}

static Result run_body(struct graph *graph, struct stream *stream) {
  Result result = SUCCESS;
  for (int i = 0; i < graph->count && !result; i++) result = run_node(&graph->nodes[i], stream);
  return result;
}

/* Waits for what comes before, for the launcher evaluates the condition. */
static Result run_conditional(struct node *node, struct stream *stream) {
  Result result = cuStreamSynchronize(stream);
  struct condition *condition = node->condition;
  if (condition->flags) condition->value = condition->initial;
  if (node->type == 2) return condition->value < node->bodies ? run_body(node->body[condition->value], stream) : result;
  if (node->type == 0 && !condition->value) return node->bodies > 1 ? run_body(node->body[1], stream) : result;
  do {
    if (condition->value && !result) result = run_body(node->body[0], stream);
    if (!result) result = cuStreamSynchronize(stream);
  } while (node->type == 1 && condition->value && !result);
  return result;
}

Result cuGraphUpload(struct graph *exec, struct stream *stream) { (void)exec; (void)stream; return usable(); }

Result cuGraphLaunch(struct graph *exec, struct stream *stream) {
  Result result = usable();
  for (int i = 0; i < exec->count && !result; i++) result = run_node(&exec->nodes[i], stream);
  return result;
}

#include "testcuda_more.h"
