// SPDX-License-Identifier: Apache-2.0
// The frames by which a stream is acknowledged and resumed, against the golden ones of the contract.
#include "peer_context.h"
#include "transport/connection.h"
#include "transport/reader.h"

#include <sched.h>
#include <stdatomic.h>

#define GOLDEN_FILE "../../protocol/contract/src/test/golden/control-frames.txt"

static const uint64_t position = 0x1122334455667788;

/** Has both ends be at the golden position in both directions; nothing is under way. */
static void move_to_position(void) {
  struct peer_resuming *resuming = peerResume.live[0];
  struct retained *retained = &connections[0].retained;
  struct reader *reader = &connections[0].reader;
  CHECK(!retained->count && reader->begin == reader->end);
  retained->begin = retained->end = retained->written = position;
  reader->received = reader->acknowledged = position;
  resuming->taken = resuming->told = position;
  resuming->answersFrom = resuming->answered = resuming->acknowledged = position;
}

/** Cuts the connection; everything is acknowledged when it is back. */
static void cut_and_return(void) {
  int before = atomic_load(&peerResume.resumes);
  shutdown(connections[0].stream, SHUT_RDWR);
  CHECK(reader_begin(&connections[0]));
  reader_take(&connections[0]);
  reader_end(&connections[0]);
  while (atomic_load(&peerResume.resumes) == before || atomic_load(&connections[0].cut.state)) sched_yield();
}

static void compare(FILE *file, const char *name, const void *frame, size_t bytes) {
  char line[128], expected[128];
  int length = snprintf(expected, sizeof expected, "%s ", name);
  for (size_t i = 0; i < bytes; i++) {
    length += snprintf(expected + length, sizeof expected - (size_t)length, "%02x", ((const uint8_t *)frame)[i]);
  }
  CHECK(fgets(line, sizeof line, file));
  line[strcspn(line, "\n")] = '\0';
  if (strcmp(line, expected) != 0) fprintf(stderr, "golden: %s\nencoded: %s\n", line, expected);
  CHECK(!strcmp(line, expected));
}

static void frames_thatResume_areTheGoldenOnes(void) {
  peer.resumeWindow = 60;
  begin();
  CHECK_OK(cuCtxSynchronize());
  cut_and_return();
  move_to_position();
  peer_position(peerResume.live[0]->session, ANSWER_ACK, 1, position);
  while (atomic_load(&peerResume.clientAcknowledged) != position) {
    if (!reader_begin(&connections[0])) continue;
    reader_take(&connections[0]);
    reader_end(&connections[0]);
  }
  cut_and_return();
  CHECK_OK(cuCtxSynchronize());
  FILE *file = fopen(GOLDEN_FILE, "r");
  CHECK(file);
  compare(file, "ACKNOWLEDGE", &peerResume.acknowledge, sizeof peerResume.acknowledge);
  compare(file, "RESUME", &peerResume.resume, sizeof peerResume.resume);
  compare(file, "ACK", peerResume.ack, sizeof peerResume.ack);
  compare(file, "RESUMED", peerResume.resumed, sizeof peerResume.resumed);
  fclose(file);
}

int main(void) {
  CASE(frames_thatResume_areTheGoldenOnes);
  return test_result();
}
