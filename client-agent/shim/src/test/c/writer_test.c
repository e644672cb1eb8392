// SPDX-License-Identifier: Apache-2.0
// The writer thread while every call waits for its answer, and after that, against a peer in this process.
#include "harness.h"
#include "peer_context.h"
#include "shim.h"
#include "transport/writer.h"

#include "exports.h"

static _Atomic uint32_t recorded;

static bool count_records(struct peer_session *session, const struct frame *frame) {
  (void)session;
  if (frame->op == OP_eventRecord) atomic_fetch_add(&recorded, 1);
  return false;
}

/** Calls of which each waits for its answer, until the writer has noticed; returns how many records there were. */
static uint32_t wait_for_each(CUevent event) {
  enum { MANY = 5000 };
  uint32_t records = 0;
  while (peer_shares() ? records < MANY : !writer_dozing(&connections[0].writer)) {
    CHECK_OK(cuEventRecord(event, NULL));
    CHECK_OK(cuStreamSynchronize(NULL));
    records++;
  }
  return records;
}

static void frames_postedWhileTheWriterRests_areSent(void) {
  enum { ROUNDS = 20, MOST = 12 };
  peer.handler = count_records;
  begin();
  CUevent event;
  CHECK_OK(cuEventCreate(&event, 0));
  uint32_t records = 0;
  for (int round = 0; round < ROUNDS; round++) {
    records += wait_for_each(event);
    for (int i = 0; i <= round % MOST; i++) {
      CHECK_OK(cuEventRecord(event, NULL));
      records++;
    }
    // Nobody calls anything that would send them.
    while (atomic_load(&recorded) < records) usleep(100);
  }
}

int main(void) {
  CASE(frames_postedWhileTheWriterRests_areSent);
  return test_result();
}
