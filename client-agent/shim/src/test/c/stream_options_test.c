// SPDX-License-Identifier: Apache-2.0
// Socket options of call streams: silence of the other end as TCP shows it, and long payloads of which a thread wakes
// seldom. The test has a network of its own and takes its link down.
#include "harness.h"
#include "transport/reader.h"
#include "transport/receive.h"
#include "transport/stream_options.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

/** Turns the loopback device on or off; false if that is not allowed. */
static bool link_set(bool up) {
  struct ifreq request = {.ifr_flags = up ? IFF_UP : 0};
  strcpy(request.ifr_name, "lo");
  int any = socket(AF_INET, SOCK_DGRAM, 0);
  bool set = any >= 0 && ioctl(any, SIOCSIFFLAGS, &request) == 0;
  close(any);
  return set;
}

/** Connects two TCP streams with each other. */
static void connect_pair(int pair[2]) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t bytes = sizeof address;
  int listener = socket(AF_INET, SOCK_STREAM, 0);
  CHECK_OK(bind(listener, (struct sockaddr *)&address, bytes));
  CHECK_OK(listen(listener, 1));
  CHECK_OK(getsockname(listener, (struct sockaddr *)&address, &bytes));
  pair[0] = socket(AF_INET, SOCK_STREAM, 0);
  CHECK_OK(connect(pair[0], (struct sockaddr *)&address, bytes));
  pair[1] = accept(listener, NULL, NULL);
  CHECK(pair[1] >= 0);
  close(listener);
}

static int option(int stream, int level, int name) {
  int value = -1;
  socklen_t bytes = sizeof value;
  CHECK_OK(getsockopt(stream, level, name, &value, &bytes));
  return value;
}

static void watchedStream_hasProbesWithinFiveSeconds(void) {
  int pair[2];
  connect_pair(pair);
  stream_options(pair[0], false);
  CHECK(option(pair[0], IPPROTO_TCP, TCP_NODELAY) && !option(pair[0], SOL_SOCKET, SO_KEEPALIVE));
  stream_options(pair[0], true);
  CHECK(option(pair[0], SOL_SOCKET, SO_KEEPALIVE));
  CHECK(option(pair[0], IPPROTO_TCP, TCP_KEEPIDLE) + option(pair[0], IPPROTO_TCP, TCP_KEEPINTVL) *
            option(pair[0], IPPROTO_TCP, TCP_KEEPCNT) == 5);
}

static void fill(int stream) {
  static const char bytes[65536];
  while (send(stream, bytes, sizeof bytes, MSG_DONTWAIT) > 0) continue;
}

static void silence_withBytesUnderWay_isNoticed(void) {
  int idle[2], sending[2], pair[2];
  connect_pair(sending);
  connect_pair(idle);
  CHECK_OK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
  CHECK(!stream_is_silent(sending[0]));
  CHECK(link_set(false));
  fill(sending[0]);
  while (!stream_is_silent(sending[0])) usleep(10000);
  CHECK(!stream_is_silent(idle[0]) && !stream_is_silent(pair[0]));
}

static void otherEnd_thatDoesNotRead_isNotSilent(void) {
  enum { SECONDS = 12 };
  int pair[2];
  connect_pair(pair);
  fill(pair[0]);
  // Until the probes of the closed window are further apart than the silence that counts.
  for (int i = 0; i < 10 * SECONDS; i++) {
    CHECK(!stream_is_silent(pair[0]));
    usleep(100000);
  }
}

enum { LONGEST = 1 << 20 };

struct sending {
  int stream, receiver;
  size_t bytes;
};

static void send_all(int stream, size_t bytes) {
  static const char zeros[LONGEST];
  CHECK(send(stream, zeros, bytes, 0) == (ssize_t)bytes);
}

/** Sends once nothing is taken any more: a thread waits for more than has come. */
static void *send_later(void *argument) {
  const struct sending *sending = argument;
  for (int queued = -2, before = -1; queued != before; usleep(5000)) {
    before = queued;
    CHECK_OK(ioctl(sending->receiver, FIONREAD, &queued));
  }
  send_all(sending->stream, sending->bytes);
  return NULL;
}

static void longPayload_inParts_isReceivedToItsEnd(void) {
  enum { TO_MEMORY = 1 };
  struct connection *connection = &connections[0];
  struct reader *reader = &connection->reader;
  static const size_t firsts[] = {1, 60 << 10, (256 << 10) - 1, 256 << 10, 300 << 10};
  int pair[2];
  connect_pair(pair);
  connection->stream = pair[0];
  CHECK(reader_open(connection));
  uint8_t *payload = malloc(LONGEST);
  for (size_t bytes = 320 << 10; bytes <= LONGEST; bytes += 64 << 10) {
    for (int i = 0; i < 5; i++) {
      struct sending sending = {pair[1], pair[0], bytes - firsts[i]};
      pthread_t sender;
      reader->underWay = true;
      reader->sink = TO_MEMORY;
      reader->to = payload;
      reader->left = bytes;
      send_all(pair[1], firsts[i]);
      CHECK_OK(pthread_create(&sender, NULL, send_later, &sending));
      while (reader->left) CHECK(receive_some(connection, true));
      CHECK(reader->to == payload + bytes && reader->begin == reader->end);
      CHECK_OK(pthread_join(sender, NULL));
      // The next frame may be short.
      CHECK(option(pair[0], SOL_SOCKET, SO_RCVLOWAT) == 1);
    }
  }
  free(payload);
}

static void longPayload_underWay_wakesNobodyForLittle(void) {
  enum { LITTLE = 1000, MUCH = 256 << 10 };
  struct connection *connection = &connections[0];
  int pair[2];
  connect_pair(pair);
  connection->stream = pair[0];
  stream_wake_for(connection, MUCH);
  CHECK(option(pair[0], SOL_SOCKET, SO_RCVLOWAT) == MUCH);
  send_all(pair[1], LITTLE);
  int queued = 0;
  while (queued < LITTLE) CHECK_OK(ioctl(pair[0], FIONREAD, &queued));
  struct pollfd poller = {pair[0], POLLIN, 0};
  CHECK(poll(&poller, 1, 0) == 0);
  send_all(pair[1], MUCH - LITTLE);
  CHECK(poll(&poller, 1, -1) == 1);
}

int main(void) {
  if (unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0 || !link_set(true)) {
    printf("a network of its own is not allowed here\n");
    return 77;
  }
  CASE(watchedStream_hasProbesWithinFiveSeconds);
  CASE(longPayload_inParts_isReceivedToItsEnd);
  CASE(longPayload_underWay_wakesNobodyForLittle);
  CASE(silence_withBytesUnderWay_isNoticed);
  link_set(true);
  CASE(otherEnd_thatDoesNotRead_isNotSilent);
  return test_result();
}
