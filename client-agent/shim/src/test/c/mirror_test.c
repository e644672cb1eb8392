// SPDX-License-Identifier: Apache-2.0
// Mapped memory while a kernel runs that waits for the program, against a peer in this process.
#include "harness.h"
#include "peer.h"
#include "shim.h"

#include "exports.h"

enum { WORDS = 1024, FROM_HOST = 3, FROM_DEVICE = 2, LAST = 700 };

static struct peer peer;

/** A kernel in a stream: it ends when the host has answered it in mapped memory. */
static struct {
  uint32_t words[WORDS];  // the device's
  bool changed[WORDS];    // since they were asked for
  bool waited;
  uint32_t tag;  // of the wait
} device;

static void write_word(uint32_t index, uint32_t value) {
  device.words[index] = value;
  device.changed[index] = true;
}

/** The changed blocks of 64 bytes, and a list of them. */
static void answer_read(struct peer_session *session, const struct frame *frame) {
  enum { BLOCK_WORDS = 16, BLOCKS = WORDS / BLOCK_WORDS };
  uint32_t tag = (uint32_t)frame->slot[0];
  uint64_t out[1 + BLOCKS / 64] = {BLOCKS / 8};
  for (uint32_t block = 0; block < BLOCKS; block++) {
    bool changed = false;
    for (uint32_t i = 0; i < BLOCK_WORDS; i++) {
      changed |= device.changed[block * BLOCK_WORDS + i];
      device.changed[block * BLOCK_WORDS + i] = false;
    }
    if (!changed) continue;
    ((uint8_t *)(out + 1))[block / 8] |= (uint8_t)(1 << block % 8);
    uint32_t length = 24 + BLOCK_WORDS * 4, bytes = BLOCK_WORDS * 4;
    uint16_t kind = ANSWER_DATA, zero = 0;
    uint64_t offset = block * BLOCK_WORDS * 4;
    uint8_t head[24];
    memcpy(head, &length, 4);
    memcpy(head + 4, &kind, 2);
    memcpy(head + 6, &zero, 2);
    memcpy(head + 8, &tag, 4);
    memcpy(head + 12, &bytes, 4);
    memcpy(head + 16, &offset, 8);
    peer_write(session, head, sizeof head);
    peer_write(session, device.words + block * BLOCK_WORDS, bytes);
  }
  peer_reply(session, frame, 0, out, sizeof out);
}

static bool spin(struct peer_session *session, const struct frame *frame) {
  static uint64_t base;
  switch (frame->op) {
    case OP_mirrorCreate:
      base = frame->slot[0];
      return true;
    case OP_mirrorWrite: {
      uint64_t offset = frame->slot[0] - base, bytes = frame->slot[2];
      CHECK(offset + bytes <= sizeof device.words);
      memcpy((uint8_t *)device.words + offset, frame->slot + 3, bytes);
      // The kernel looks: it answers a question, and the last answer ends it.
      if (device.words[FROM_HOST] == 1 && !device.words[FROM_DEVICE]) write_word(FROM_DEVICE, 7);
      if (device.words[LAST] == 2 && device.waited) {
        device.waited = false;
        peer_answer(session, ANSWER_REPLY, device.tag, 0, NULL, 0);
      }
      return true;
    }
    case OP_mirrorRead:
      answer_read(session, frame);
      return true;
    case OP_ctxSynchronize:
      device.waited = true;
      device.tag = (uint32_t)frame->slot[0];
      return true;
    default:
      return false;
  }
}

static volatile uint32_t *host;

static void begin(void) {
  CUcontext context;
  CUdeviceptr address;
  CUmodule module;
  CUfunction function;
  peer.handler = spin;
  peer_start(&peer);
  CHECK_OK(cuInit(0));
  CHECK_OK(cuDevicePrimaryCtxRetain(&context, 0));
  CHECK_OK(cuCtxSetCurrent(context));
  void *memory = NULL;
  CHECK(posix_memalign(&memory, 4096, WORDS * 4) == 0);
  memset(memory, 0, WORDS * 4);
  host = memory;
  CHECK_OK(cuMemHostRegister_v2(memory, WORDS * 4, 2));
  CHECK_OK(cuMemHostGetDevicePointer_v2(&address, memory, 0));
  CHECK_OK(cuModuleLoadData(&module, ".version 8.0\n.target sm_80\n"));
  CHECK_OK(cuModuleGetFunction(&function, module, "empty"));
  CHECK_OK(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
}

/** Asks the kernel, and answers it once it has answered. */
static void *converse(void *seconds) {
  usleep(20000);
  host[FROM_HOST] = 1;
  while (host[FROM_DEVICE] != 7) usleep(100);
  // A neighbour of what the device changes stays the program's.
  CHECK(host[FROM_HOST] == 1);
  sleep(*(unsigned int *)seconds);
  host[LAST] = 2;
  return NULL;
}

static void wait_whileHostAndKernelAnswerEachOther_ends(void) {
  unsigned int none = 0;
  pthread_t thread;
  begin();
  CHECK(pthread_create(&thread, NULL, converse, &none) == 0);
  CHECK_OK(cuCtxSynchronize());
  CHECK(pthread_join(thread, NULL) == 0);
  CHECK(host[FROM_DEVICE] == 7 && host[FROM_HOST] == 1);
}

static void wait_thatTakesLong_saysWhatItMayBeWaitingFor(void) {
  unsigned int seconds = 6;
  char said[2048] = "";
  FILE *errors = tmpfile();
  pthread_t thread;
  begin();
  CHECK(dup2(fileno(errors), STDERR_FILENO) == STDERR_FILENO);
  CHECK(pthread_create(&thread, NULL, converse, &seconds) == 0);
  CHECK_OK(cuCtxSynchronize());
  CHECK(pthread_join(thread, NULL) == 0);
  rewind(errors);
  CHECK(fread(said, 1, sizeof said - 1, errors) > 0);
  char *first = strstr(said, "a kernel may be waiting for host memory");
  CHECK(first && !strstr(first + 1, "a kernel may be waiting for host memory"));
}

int main(void) {
  CASE(wait_whileHostAndKernelAnswerEachOther_ends);
  CASE(wait_thatTakesLong_saysWhatItMayBeWaitingFor);
  return test_result();
}
