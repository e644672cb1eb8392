// SPDX-License-Identifier: Apache-2.0
#include "stream/host_func.h"

#include "context/context.h"
#include "core/fork.h"
#include "core/lock.h"
#include "core/log.h"
#include "ops.h"
#include "shim.h"
#include "stream/capture_interface.h"
#include "stream/stream.h"
#include "stream/work_hooks.h"
#include "transport/reader.h"
#include "transport/replies.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

enum callback_kind { HOST_FUNCTION, STREAM_CALLBACK };

struct callback {
  struct callback *next;
  uint32_t number;
  enum callback_kind kind;
  CUhostFn function;
  void *userData;
  CUstream stream;
  struct context *context;
  uint32_t streamNumber;
  CUresult result;
};

static struct {
  struct lock lock;
  uint32_t lastNumber;
  _Atomic uint32_t pending;           // waiting, queued and running
  struct callback *waiting;   // for the worker to call
  struct callback *queued;    // called, in order
  struct callback **last;     // the end of that queue
  struct call *watcher;       // the thread waits for a call
  _Atomic uint32_t work;              // futex: changes when there is something to wait for
  bool started;
} all;

bool host_funcs_pending(void) { return atomic_load_explicit(&all.pending, memory_order_acquire) > 0; }

static void host_func_reset(void) { memset(&all, 0, sizeof all); }

ON_FORK(host_func_reset);

/** Takes a callback from those that wait; the list is locked. */
static struct callback *take_waiting(uint32_t number) {
  struct callback **at = &all.waiting;
  while (*at && (*at)->number != number) at = &(*at)->next;
  struct callback *callback = *at;
  if (callback) *at = callback->next;
  return callback;
}

static bool host_func_arrived(uint32_t number, CUresult result) {
  lock_take(&all.lock);
  struct callback *callback = take_waiting(number);
  struct call *watcher = NULL;
  if (callback) {
    callback->result = result;
    callback->next = NULL;
    if (!all.queued) all.last = &all.queued;
    *all.last = callback;
    all.last = &callback->next;
    watcher = all.watcher;
    all.watcher = NULL;
    // Told under the lock: the thread cannot leave with the watcher on its stack meanwhile.
    if (watcher) call_tell(watcher);
  }
  lock_release(&all.lock);
  return callback != NULL;
}
ON_CALLBACK(host_func_arrived);

/** The next callback to run, or NULL when none is asked for any more. */
static struct callback *next_callback(void) {
  for (;;) {
    struct call watcher = {.kind = CALL_WATCHER};
    lock_take(&all.lock);
    struct callback *callback = all.queued;
    if (callback) {
      all.queued = callback->next;
      lock_release(&all.lock);
      return callback;
    }
    if (!all.waiting || !session_alive()) {
      lock_release(&all.lock);
      return NULL;
    }
    call_open(connection_of(all.waiting->context->number), &watcher);
    all.watcher = &watcher;
    lock_release(&all.lock);
    // Nobody else may be reading the stream, so this thread does while it waits.
    call_await(&watcher);
    lock_take(&all.lock);
    if (all.watcher == &watcher) all.watcher = NULL;
    lock_release(&all.lock);
  }
}

static void run(struct callback *callback) {
  // The stream stands still: what its kernels wrote is the host's to read, and what the function writes
  // is the next kernel's.
  after_wait(callback->context, callback->streamNumber, submit_mark());
  if (callback->kind == HOST_FUNCTION) {
    ((void (*)(void *))callback->function)(callback->userData);
  } else {
    ((void (*)(CUstream, CUresult, void *))callback->function)(callback->stream, callback->result,
                                                               callback->userData);
  }
  before_submit(callback->context, 0);
  struct connection *connection = connection_of(callback->context->number);
  op_callbackDone(connection_no_context(callback->context->number >> CONNECTION_SHIFT), callback->number);
  sender_flush(connection);  // the stream waits for it
  atomic_fetch_sub_explicit(&all.pending, 1, memory_order_acq_rel);
  free(callback);
}

static void *callback_thread(void *nothing) {
  (void)nothing;
  prctl(PR_SET_NAME, "gpupool-calls");
  for (;;) {
    uint32_t work = atomic_load(&all.work);
    struct callback *callback = next_callback();
    if (callback) {
      run(callback);
    } else {
      futex_wait(&all.work, work, NULL);
    }
  }
  return NULL;
}

static bool start(void) {
  sigset_t every, before;
  sigfillset(&every);
  pthread_sigmask(SIG_SETMASK, &every, &before);
  pthread_t thread;
  bool started = pthread_create(&thread, NULL, callback_thread, NULL) == 0;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (started) pthread_detach(thread);
  return started;
}

/** Records a callback before the worker can call it. */
static CUresult add(struct callback *callback, uint32_t *number) {
  lock_take(&all.lock);
  if (!all.started) all.started = start();
  if (!all.started) {
    lock_release(&all.lock);
    return CUDA_ERROR_OPERATING_SYSTEM;
  }
  *number = callback->number = ++all.lastNumber;
  callback->next = all.waiting;
  all.waiting = callback;
  atomic_fetch_add_explicit(&all.pending, 1, memory_order_acq_rel);
  lock_release(&all.lock);
  return CUDA_SUCCESS;
}

static CUresult enqueue(struct context *context, uint32_t stream, CUstream hStream,
                        enum callback_kind kind, CUhostFn function, void *userData) {
  struct callback *callback = malloc(sizeof *callback);
  if (!callback) return CUDA_ERROR_OUT_OF_MEMORY;
  *callback = (struct callback){
      .kind = kind, .function = function, .userData = userData, .stream = hStream,
      .context = context, .streamNumber = stream};
  uint32_t number;
  CUresult result = add(callback, &number);
  if (result) {
    free(callback);
    return result;
  }
  result = op_streamHostFunction(context->number, stream, number, kind);
  // The thread waits for it only now, when it is on its way.
  atomic_fetch_add(&all.work, 1);
  futex_wake(&all.work, 1);
  return result;
}

CUresult host_func_launch(struct context *context, uint32_t stream, CUhostFn function,
                         void *userData) {
  return enqueue(context, stream, NULL, HOST_FUNCTION, function, userData);
}

static CUresult resolve(CUstream hStream, struct context **context, uint32_t *stream) {
  CUresult result = context_or_none(context);
  return result ? result : stream_number(hStream, context, stream);
}

CUresult shim_cuLaunchHostFunc(CUstream hStream, CUhostFn fn, void *userData) {
  struct context *context;
  uint32_t stream;
  if (!fn) return CUDA_ERROR_INVALID_VALUE;
  struct stream *capturing = capture_stream(hStream);
  if (UNLIKELY(capturing != NULL)) return capture_host(capturing, fn, userData);
  CUresult result = resolve(hStream, &context, &stream);
  return result ? result : host_func_launch(context, stream, fn, userData);
}

CUresult shim_cuStreamAddCallback(CUstream hStream, CUstreamCallback callback, void *userData,
                                  unsigned int flags) {
  struct context *context;
  uint32_t stream;
  if (flags || !callback) return CUDA_ERROR_INVALID_VALUE;
  CUresult result = resolve(hStream, &context, &stream);
  return result ? result
                : enqueue(context, stream, hStream, STREAM_CALLBACK, (CUhostFn)callback, userData);
}
