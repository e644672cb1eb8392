// SPDX-License-Identifier: Apache-2.0
#include "transport/watch.h"

#include "core/background.h"
#include "transport/cut.h"
#include "transport/hold.h"
#include "transport/reader.h"
#include "transport/session_state.h"
#include "transport/shared_stream.h"
#include "transport/stream_options.h"

#include <poll.h>
#include <sys/prctl.h>
#include <time.h>

/** Returns whether nothing more will come on a stream than what is there. */
static bool has_ended(const struct connection *connection) {
  struct pollfd poller = {connection->stream, POLLRDHUP, 0};
  return !cut_now(connection) && poll(&poller, 1, 0) > 0;
}

static void watch(struct connection *connection) {
  if (!cut_now(connection) && stream_is_silent(connection->stream)) {
    cut_report(connection, "its server has been silent for 5 s");
  }
  // What is there may be the reason for the end.
  while (session_alive() && has_ended(connection) && reader_begin(connection)) {
    shared_look(connection);
    reader_take(connection);
    reader_end(connection);
  }
}

static void *watch_run(void *nothing) {
  prctl(PR_SET_NAME, "gpupool-watch");
  while (session_alive()) {
    struct timespec second = {1, 0};
    nanosleep(&second, NULL);
    for (uint32_t i = 0; i < connectionCount; i++) watch(&connections[i]);
    hold_watch();
  }
  return nothing;
}

void watch_begin(void) {
  if (connection_resumable(&connections[0])) background_start(watch_run, NULL);
}
