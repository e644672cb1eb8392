// SPDX-License-Identifier: Apache-2.0
#include "transport/connection.h"

#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

struct connection connections[MAX_CONNECTIONS];
uint32_t connectionCount = 1;

static void reset(struct connection *connection) {
  uint8_t *ringBytes = connection->ring.bytes, *readBytes = connection->reader.buffer;
  struct segment *segments = connection->retained.segments;
  struct seal seal = connection->seal;
  // The memory itself was not handed down.
  if (connection->shared.on) close(connection->shared.file);
  memset(connection, 0, sizeof *connection);
  connection->ring.bytes = ringBytes;
  connection->ring.skipFrom = UINT64_MAX;
  connection->reader.buffer = readBytes;
  connection->retained.segments = segments;
  connection->seal = (struct seal){.sealing.cipher = seal.sealing.cipher,
                                   .opening.cipher = seal.opening.cipher,
                                   .outgoing = seal.outgoing,
                                   .incoming = seal.incoming};
}

void connection_room_made(struct connection *connection) {
  struct ring *ring = &connection->ring;
  if (!atomic_load(&ring->roomWanted)) return;
  atomic_store(&ring->roomWanted, 0);
  atomic_fetch_add(&ring->room, 1);
  futex_wake(&ring->room, INT_MAX);
}

void connections_reset(void) {
  for (uint32_t i = 0; i < MAX_CONNECTIONS; i++) reset(&connections[i]);
  connectionCount = 1;
}
