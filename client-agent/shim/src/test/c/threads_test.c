// SPDX-License-Identifier: Apache-2.0
// Many threads on one session: their one order, callbacks, full rings, forks and lost connections.
#include "exports.h"
#include "harness.h"
#include "peer.h"
#include "transport/connection.h"

#include <stdatomic.h>
#include <sys/time.h>

static struct peer peer;
static CUcontext context;
static const char ptx[] = ".version 8.0\n.target sm_80\n";

static void begin(void) {
  peer_start(&peer);
  CHECK_OK(cuInit(0));
  CHECK_OK(cuDevicePrimaryCtxRetain(&context, 0));
  CHECK_OK(cuCtxSetCurrent(context));
}

static CUfunction function_named(const char *name) {
  CUmodule module;
  CUfunction function;
  CHECK_OK(cuModuleLoadData(&module, ptx));
  CHECK_OK(cuModuleGetFunction(&function, module, name));
  return function;
}

static void launch(CUfunction function, CUstream stream, CUdeviceptr address, uint32_t value) {
  void *parameters[] = {&address, &value};
  CHECK_OK(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, parameters, NULL));
}

// One order: a thread posts, another is told by a flag and reads.

enum { ROUNDS = 2000 };

static CUfunction store;
static CUdeviceptr shared;
static _Atomic uint32_t posted, seen;

static void *post_rounds(void *nothing) {
  (void)nothing;
  CHECK_OK(cuCtxSetCurrent(context));
  for (uint32_t round = 1; round <= ROUNDS; round++) {
    launch(store, NULL, shared, round);
    atomic_store(&posted, round);
    while (atomic_load(&seen) < round) sched_yield();
  }
  return NULL;
}

static void order_readAfterAnothersPost_isNeverStale(void) {
  begin();
  store = function_named("store");
  CHECK_OK(cuMemAlloc_v2(&shared, 4));
  pthread_t poster;
  pthread_create(&poster, NULL, post_rounds, NULL);
  for (uint32_t round = 1; round <= ROUNDS; round++) {
    while (atomic_load(&posted) < round) sched_yield();
    uint32_t value = 0;
    CHECK_OK(cuMemcpyDtoH_v2(&value, shared, 4));
    CHECK(value == round);
    atomic_store(&seen, round);
  }
  pthread_join(poster, NULL);
}

// Sixteen threads, each with its own stream and memory.

enum { THREADS = 16 };

static void *work_alone(void *argument) {
  uint32_t self = (uint32_t)(uintptr_t)argument;
  CUstream stream;
  CUdeviceptr memory;
  uint32_t block[1000], back[1000];
  CHECK_OK(cuCtxSetCurrent(context));
  CHECK_OK(cuStreamCreate(&stream, self % 2));
  CHECK_OK(cuMemAlloc_v2(&memory, sizeof block));
  for (uint32_t round = 0; round < 200; round++) {
    for (uint32_t i = 0; i < 1000; i++) block[i] = self * 1000000 + round * 1000 + i;
    CHECK_OK(cuMemcpyHtoDAsync_v2(memory, block, sizeof block, stream));
    launch(store, stream, memory + 4 * (round % 1000), round);
    CHECK_OK(cuMemcpyDtoHAsync_v2(back, memory, sizeof back, stream));
    CHECK_OK(cuStreamSynchronize(stream));
    block[round % 1000] = round;
    CHECK(memcmp(block, back, sizeof block) == 0);
  }
  CHECK_OK(cuStreamSynchronize_ptsz(NULL));
  CHECK_OK(cuMemFree_v2(memory));
  CHECK_OK(cuStreamDestroy_v2(stream));
  return NULL;
}

static void sixteenThreads_sixteenStreams_areExact(void) {
  begin();
  store = function_named("store");
  pthread_t threads[THREADS];
  for (uintptr_t i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, work_alone, (void *)i);
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
}

// A full ring: the worker does not read for a while; every launch must still come, in its thread's order.

static uint32_t latest[THREADS];
static bool disordered;

static bool stall(struct peer_session *session, const struct frame *frame) {
  if (frame->op == OP_ctxSetLimit) usleep(200000);
  if (frame->op != OP_launch) return false;
  session->launches++;
  uint64_t thread;
  uint32_t value;
  memcpy(&thread, (const uint8_t *)frame + 56, 8);
  memcpy(&value, (const uint8_t *)frame + 64, 4);
  if (value != ++latest[thread]) disordered = true;
  return true;
}

static void *flood(void *argument) {
  CHECK_OK(cuCtxSetCurrent(context));
  for (uint32_t value = 1; value <= 20000; value++) {
    launch(store, NULL, (uintptr_t)argument, value);
  }
  return NULL;
}

static void *stall_once(void *nothing) {
  (void)nothing;
  CHECK_OK(cuCtxSetCurrent(context));
  CHECK_OK(cuCtxSetLimit(0, 1));
  return NULL;
}

static void ringFull_stalledWorker_losesNothing(void) {
  peer.handler = stall;
  begin();
  store = function_named("store");
  pthread_t threads[THREADS], staller;
  pthread_create(&staller, NULL, stall_once, NULL);
  usleep(20000);
  for (uintptr_t i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, flood, (void *)i);
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  pthread_join(staller, NULL);
  CHECK_OK(cuCtxSynchronize());
  for (int i = 0; i < THREADS; i++) CHECK(latest[i] == 20000);
  CHECK(!disordered);
}

// Frames whose length divides the ring's: one ends where the ring does, and nothing is skipped.

static uint64_t expected;

static bool count_up(struct peer_session *session, const struct frame *frame) {
  (void)session;
  if (frame->op == OP_ctxSetLimit) usleep(50000);
  if (frame->op != OP_streamWaitEvent) return false;
  if (frame->slot[0] != expected++) disordered = true;
  return true;
}

static void ringLap_filledToItsEnd_isSentWhole(void) {
  enum { FRAME_BYTES = 32, COUNT = 500000 };
  peer.handler = count_up;
  begin();
  pthread_t staller;
  while (connections[0].ring.head % FRAME_BYTES) CHECK_OK(op_goodbye(0));
  for (uint32_t i = 0; i < COUNT; i++) {
    if (i % 100000 == 0) pthread_create(&staller, NULL, stall_once, NULL);
    while (connections[0].ring.head % FRAME_BYTES) CHECK_OK(op_goodbye(0));
    CHECK_OK(op_streamWaitEvent(16, i, 0, 0));
  }
  CHECK_OK(cuCtxSynchronize());
  CHECK(expected == COUNT && !disordered);
}

static void bothDirectionsFull_neverDeadlocks(void) {
  begin();
  enum { BYTES = 16 << 20 };
  CUdeviceptr device;
  // Page-locked memory that no worker maps, so that its bytes are sent.
  void *back = malloc(BYTES);
  uint8_t *out = malloc(BYTES);
  memset(out, 3, BYTES);
  CHECK_OK(cuMemAlloc_v2(&device, BYTES));
  CHECK_OK(cuMemHostRegister_v2(back, BYTES, 0));
  CHECK_OK(cuMemsetD8_v2(device, 9, BYTES));
  // The worker sends and does not read; the client sends and must.
  CHECK_OK(cuMemcpyDtoHAsync_v2(back, device, BYTES, NULL));
  CHECK_OK(cuMemcpyHtoD_v2(device, out, BYTES));
  CHECK_OK(cuMemcpyDtoHAsync_v2(back, device, BYTES / 2, NULL));
  CHECK_OK(cuCtxSynchronize());
  CHECK(((uint8_t *)back)[0] == 3 && ((uint8_t *)back)[BYTES - 1] == 9);
}

// Callbacks

static int calls;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

static void count_call(void *argument) {
  pthread_mutex_lock(&mutex);
  CHECK(calls == (int)(intptr_t)argument);
  calls++;
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&mutex);
}

static void hostFunctions_nobodyFences_runInOrder(void) {
  begin();
  for (intptr_t i = 0; i < 500; i++) CHECK_OK(cuLaunchHostFunc(NULL, (CUhostFn)count_call, (void *)i));
  pthread_mutex_lock(&mutex);
  while (calls < 500) pthread_cond_wait(&changed, &mutex);
  pthread_mutex_unlock(&mutex);
  for (intptr_t i = 500; i < 510; i++) {
    CHECK_OK(cuLaunchHostFunc(NULL, (CUhostFn)count_call, (void *)i));
    CHECK_OK(cuCtxSynchronize());
  }
}

static _Atomic int doneCallbacks;

static bool fence_after_callbacks(struct peer_session *session, const struct frame *frame) {
  (void)session;
  if (frame->op == OP_callbackDone) atomic_fetch_add(&doneCallbacks, 1);
  return false;
}

static void stream_callback(CUstream stream, CUresult result, void *argument) {
  CHECK(stream == NULL && result == 0 && argument == &doneCallbacks);
  usleep(10000);
}

static void streamCallback_runs_andIsReportedDone(void) {
  peer.handler = fence_after_callbacks;
  begin();
  CHECK_OK(cuStreamAddCallback(NULL, (CUstreamCallback)stream_callback, &doneCallbacks, 0));
  while (atomic_load(&doneCallbacks) == 0) usleep(1000);
}

// Fork

static void fork_child_startsAfresh(void) {
  begin();
  store = function_named("store");
  CUdeviceptr device;
  uint32_t value = 0;
  CHECK_OK(cuMemAlloc_v2(&device, 4));
  pthread_t busy;
  pthread_create(&busy, NULL, flood, (void *)(uintptr_t)device);
  for (int i = 0; i < 5; i++) {
    pid_t child = fork();
    if (child == 0) {
      alarm(120);
      CUcontext other;
      int count = 0;
      CHECK_RESULT(3, cuDeviceGetCount(&count));
      CHECK_OK(cuInit(0));
      CHECK_OK(cuCtxGetCurrent(&other));
      CHECK(other == NULL);
      CHECK_RESULT(201, cuCtxSetCurrent(context));
      CHECK_OK(cuDevicePrimaryCtxRetain(&other, 0));
      CHECK_OK(cuCtxSetCurrent(other));
      CUdeviceptr own;
      CHECK_OK(cuMemAlloc_v2(&own, 4));
      CHECK_OK(cuMemsetD32Async(own, 4711, 1, NULL));
      CHECK_RESULT(400, cuLaunchKernel(store, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
      _exit(0);
    }
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  pthread_join(busy, NULL);
  CHECK_OK(cuMemcpyDtoH_v2(&value, device, 4));
  CHECK(value == 20000);
  CHECK(atomic_load(&peer.sessions) == 6);
}

// Loss

static bool hang_up(struct peer_session *session, const struct frame *frame) {
  if (frame->op != OP_ctxGetLimit) return false;
  shutdown(session->stream, SHUT_RDWR);
  return true;
}

static bool leave_waiting(struct peer_session *session, const struct frame *frame) {
  (void)session;
  return frame->op == OP_streamSynchronize;
}

static bool leave_or_hang_up(struct peer_session *session, const struct frame *frame) {
  return leave_waiting(session, frame) || hang_up(session, frame);
}

static void *wait_for_stream(void *nothing) {
  (void)nothing;
  CHECK_OK(cuCtxSetCurrent(context));
  CHECK_RESULT(46, cuStreamSynchronize(NULL));
  return NULL;
}

static void connectionLost_everyCall_isDeviceUnavailable(void) {
  peer.handler = leave_or_hang_up;
  begin();
  store = function_named("store");
  pthread_t threads[4];
  for (int i = 0; i < 4; i++) pthread_create(&threads[i], NULL, wait_for_stream, NULL);
  usleep(20000);
  size_t value;
  CHECK_RESULT(46, cuCtxGetLimit(&value, 0));
  for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
  CUdeviceptr device;
  CHECK_RESULT(46, cuMemAlloc_v2(&device, 1));
  CHECK_RESULT(46, cuLaunchKernel(store, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
  CHECK_RESULT(46, cuInit(0));
}

static bool send_fatal(struct peer_session *session, const struct frame *frame) {
  if (frame->op != OP_ctxGetLimit) return false;
  peer_answer(session, ANSWER_FATAL, 0, 719, "the worker crashed", 18);
  return true;
}

static void fatalFrame_everyCall_givesItsResult(void) {
  peer.handler = send_fatal;
  begin();
  size_t value;
  CHECK_RESULT(719, cuCtxGetLimit(&value, 0));
  CHECK_RESULT(719, cuCtxSynchronize());
}

// Signals

static void on_alarm(int number) { (void)number; }

static void signals_interruptingEverything_changeNothing(void) {
  begin();
  struct sigaction action = {.sa_handler = on_alarm};
  sigaction(SIGVTALRM, &action, NULL);
  sigaction(SIGPROF, &action, NULL);
  struct itimerval timer = {{0, 300}, {0, 300}};
  setitimer(ITIMER_PROF, &timer, NULL);
  setitimer(ITIMER_VIRTUAL, &timer, NULL);
  enum { BYTES = 4 << 20 };
  CUdeviceptr device;
  uint8_t *out = malloc(BYTES), *back = malloc(BYTES);
  for (int i = 0; i < BYTES; i++) out[i] = (uint8_t)(i ^ i >> 9);
  CHECK_OK(cuMemAlloc_v2(&device, BYTES));
  for (int round = 0; round < 20; round++) {
    errno = 4711;
    CHECK_OK(cuMemcpyHtoD_v2(device, out, BYTES));
    CHECK_OK(cuMemcpyDtoH_v2(back, device, BYTES));
    CHECK(errno == 4711);
    CHECK(memcmp(out, back, BYTES) == 0);
    memset(back, 0, BYTES);
  }
}

int main(void) {
  CASE(order_readAfterAnothersPost_isNeverStale);
  CASE(sixteenThreads_sixteenStreams_areExact);
  CASE(ringFull_stalledWorker_losesNothing);
  CASE(ringLap_filledToItsEnd_isSentWhole);
  CASE(bothDirectionsFull_neverDeadlocks);
  CASE(hostFunctions_nobodyFences_runInOrder);
  CASE(streamCallback_runs_andIsReportedDone);
  CASE(fork_child_startsAfresh);
  CASE(connectionLost_everyCall_isDeviceUnavailable);
  CASE(fatalFrame_everyCall_givesItsResult);
  CASE(signals_interruptingEverything_changeNothing);
  return test_result();
}
