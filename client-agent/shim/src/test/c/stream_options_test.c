// SPDX-License-Identifier: Apache-2.0
// Silence of the other end of a call stream, as TCP shows it. The test has a network of its own and takes its link down.
#include "harness.h"
#include "transport/stream_options.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/tcp.h>
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

int main(void) {
  if (unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0 || !link_set(true)) {
    printf("a network of its own is not allowed here\n");
    return 77;
  }
  CASE(watchedStream_hasProbesWithinFiveSeconds);
  CASE(silence_withBytesUnderWay_isNoticed);
  link_set(true);
  CASE(otherEnd_thatDoesNotRead_isNotSilent);
  return test_result();
}
