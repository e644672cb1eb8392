// SPDX-License-Identifier: Apache-2.0
#include "transport/control.h"

#include "transport/retained.h"
#include "transport/session_state.h"

#include <stdatomic.h>
#include <stdio.h>

enum {
  POSITION_BYTES = 8,
  BULK_LEFT_BYTES = 128 << 10,       // of a payload that is bulk data
  BULK_ACKNOWLEDGE_BYTES = 4 << 20,  // while that comes
};

HOOK_TABLE(acknowledge, acknowledge_hook);

uint64_t control_position(const struct connection *connection) {
  const struct reader *reader = &connection->reader;
  return reader->received - (reader->end - reader->begin);
}

void control_rewind(struct connection *connection) {
  struct reader *reader = &connection->reader;
  reader->received = reader->acknowledged = control_position(connection);
  reader->begin = reader->end = 0;
  reader->wakesFor = 0;
  atomic_store(&connection->acknowledgement.due, false);
  connection->acknowledgement.askedAfter = UINT64_MAX;
}

void control_acknowledge(struct connection *connection, bool wanted) {
  struct reader *reader = &connection->reader;
  uint64_t position = control_position(connection), fresh = position - reader->acknowledged;
  bool bulk = reader->underWay && reader->left > BULK_LEFT_BYTES;
  if (!wanted && fresh < (bulk ? BULK_ACKNOWLEDGE_BYTES : ACKNOWLEDGE_BYTES)) return;
  reader->acknowledged = position;
  atomic_store(&connection->acknowledgement.received, position);
  atomic_store(&connection->acknowledgement.due, true);
}

bool control_ask(struct connection *connection) {
  struct acknowledgement *acknowledgement = &connection->acknowledgement;
  uint64_t begin = retained_begin(connection);
  if (retained_bytes(connection) >= 2 * ACKNOWLEDGE_BYTES || acknowledgement->askedAfter == begin) return false;
  acknowledgement->askedAfter = begin;
  atomic_store(&acknowledgement->wanted, true);
  control_acknowledge(connection, true);
  return true;
}

bool control_take(struct connection *connection, uint64_t position) {
  struct reader *reader = &connection->reader;
  reader->received -= sizeof(struct answer_header) + POSITION_BYTES;
  if (reader->header.length != sizeof(struct answer_header) + POSITION_BYTES) return false;
  if (!retained_acknowledge(connection, position)) {
    char what[128];
    snprintf(what, sizeof what, "an acknowledgement of %llu bytes, after one of %llu",
             (unsigned long long)position, (unsigned long long)retained_begin(connection));
    session_malformed(what);
    return false;
  }
  if (reader->header.tag) control_acknowledge(connection, true);
  return true;
}

void control_pass_on(struct connection *connection) {
  if (!atomic_load_explicit(&connection->acknowledgement.due, memory_order_relaxed)) return;
  FOR_EACH_HOOK(acknowledge, acknowledge_hook, hook) (*hook)(connection);
}
