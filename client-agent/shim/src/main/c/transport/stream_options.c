// SPDX-License-Identifier: Apache-2.0
#include "transport/stream_options.h"

#include "wire.h"

#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

static void set(int stream, int level, int option, int value) {
  setsockopt(stream, level, option, &value, sizeof value);
}

void stream_options(int stream, bool watched) {
  set(stream, IPPROTO_TCP, TCP_NODELAY, 1);
  if (!watched) return;
  set(stream, SOL_SOCKET, SO_KEEPALIVE, 1);
  set(stream, IPPROTO_TCP, TCP_KEEPIDLE, SILENCE_IDLE_SECONDS);
  set(stream, IPPROTO_TCP, TCP_KEEPINTVL, SILENCE_INTERVAL_SECONDS);
  set(stream, IPPROTO_TCP, TCP_KEEPCNT, SILENCE_PROBES);
}

bool stream_is_silent(int stream) {
  struct tcp_info info = {0};
  socklen_t bytes = sizeof info;
  int queued = 0;
  if (getsockopt(stream, IPPROTO_TCP, TCP_INFO, &info, &bytes) != 0 || ioctl(stream, SIOCOUTQ, &queued) != 0) {
    return false;
  }
  // Bytes that wait for the other end to read are no sign: it answers the probes of its closed window, but these come
  // ever more seldom.
  bool underWay = info.tcpi_unacked > 0 || (queued > 0 && info.tcpi_probes >= SILENCE_WINDOW_PROBES);
  return underWay && info.tcpi_last_ack_recv >= SILENCE_MILLIS;
}

void stream_wake_for(struct connection *connection, int bytes) {
  struct reader *reader = &connection->reader;
  if (reader->wakesFor == bytes || connection->shared.on) return;
  set(connection->stream, SOL_SOCKET, SO_RCVLOWAT, bytes);
  reader->wakesFor = bytes;
}
