// SPDX-License-Identifier: Apache-2.0
// A plain TCP connection between two processes of this machine: the floor of what servers exchange.
//
// Usage: stream serve | stream PORT
// The server prints its port. The other process reads lines, and answers each with microseconds:
//   ping COUNT          8 bytes to and fro, the median
//   one BYTES COUNT     COUNT transfers in a row to the server, of one of them
//   both BYTES COUNT    the same while the server sends as much
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "figures.h"

enum { PING_BYTES = 8, MOST_PINGS = 100000, LEAST_CHUNK = 64 << 10, CHUNK = 1 << 20 };

/** A request of one process to the other: the transfer to make. */
struct task {
  char kind[8];
  long bytes, count;
};

static char outgoing[CHUNK], incoming[CHUNK];

static void stop(const char *what) {
  perror(what);
  exit(1);
}

static void transfer(int connection, void *bytes, size_t length, int sends) {
  for (size_t done = 0; done < length;) {
    ssize_t part = sends ? send(connection, (char *)bytes + done, length - done, MSG_NOSIGNAL)
                         : recv(connection, (char *)bytes + done, length - done, 0);
    if (part <= 0) exit(part == 0 ? 0 : 1);
    done += (size_t)part;
  }
}

static size_t smaller(size_t one, size_t another) { return one < another ? one : another; }

/** Sends and receives so many bytes, at the same time. A write is a quarter of a transfer, 64 KiB to 1 MiB. */
static void exchange(int connection, const struct task *task, size_t to_send, size_t to_receive) {
  size_t quarter = (size_t)task->bytes / 4;
  size_t chunk = quarter < LEAST_CHUNK ? LEAST_CHUNK : smaller(quarter, CHUNK);
  while (to_send > 0 || to_receive > 0) {
    ssize_t sent = 0, received = 0;
    if (to_send > 0) {
      sent = send(connection, outgoing, smaller(to_send, chunk), MSG_NOSIGNAL | MSG_DONTWAIT);
      to_send -= sent > 0 ? (size_t)sent : 0;
    }
    if (to_receive > 0) {
      received = recv(connection, incoming, smaller(to_receive, chunk), MSG_DONTWAIT);
      to_receive -= received > 0 ? (size_t)received : 0;
      if (received == 0) exit(1);
    }
    if ((sent < 0 || received < 0) && errno != EAGAIN) stop("the connection");
    if (sent <= 0 && received <= 0) {
      struct pollfd ready = {connection, (short)((to_send ? POLLOUT : 0) | (to_receive ? POLLIN : 0)), 0};
      if (to_send > 0 || to_receive > 0) poll(&ready, 1, -1);
    }
  }
}

static void serve_task(int connection, const struct task *task) {
  char done = 1;
  if (!strcmp(task->kind, "ping")) {
    for (long i = 0; i < task->count; i++) {
      transfer(connection, incoming, PING_BYTES, 0);
      transfer(connection, incoming, PING_BYTES, 1);
    }
    return;
  }
  size_t bytes = (size_t)(task->bytes * task->count);
  exchange(connection, task, !strcmp(task->kind, "both") ? bytes : 0, bytes);
  transfer(connection, &done, 1, 1);
}

static double measure(int connection, const struct task *task) {
  static double micros[MOST_PINGS];
  char done;
  transfer(connection, (void *)task, sizeof *task, 1);
  if (!strcmp(task->kind, "ping")) {
    for (long i = 0; i < task->count; i++) {
      double start = now_seconds();
      transfer(connection, outgoing, PING_BYTES, 1);
      transfer(connection, incoming, PING_BYTES, 0);
      micros[i] = (now_seconds() - start) * 1e6;
    }
    return median(micros, (size_t)task->count);
  }
  size_t bytes = (size_t)(task->bytes * task->count);
  double start = now_seconds();
  exchange(connection, task, bytes, !strcmp(task->kind, "both") ? bytes : 0);
  transfer(connection, &done, 1, 0);
  return (now_seconds() - start) * 1e6 / (double)task->count;
}

static void serve(void) {
  struct sockaddr_in place = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t length = sizeof place;
  int listener = socket(AF_INET, SOCK_STREAM, 0), on = 1;
  if (bind(listener, (struct sockaddr *)&place, length) || listen(listener, 1)) stop("listen");
  getsockname(listener, (struct sockaddr *)&place, &length);
  printf("%d\n", ntohs(place.sin_port));
  fflush(stdout);
  int connection = accept(listener, NULL, NULL);
  setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  for (struct task task;;) {
    transfer(connection, &task, sizeof task, 0);
    serve_task(connection, &task);
  }
}

int main(int count, char **words) {
  if (count != 2) {
    fprintf(stderr, "usage: stream serve | stream PORT\n");
    return 2;
  }
  memset(outgoing, 1, sizeof outgoing);
  memset(incoming, 1, sizeof incoming);
  if (!strcmp(words[1], "serve")) serve();
  struct sockaddr_in place = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(words[1])),
                              .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  int connection = socket(AF_INET, SOCK_STREAM, 0), on = 1;
  if (connect(connection, (struct sockaddr *)&place, sizeof place)) stop(words[1]);
  setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  for (char line[64]; fgets(line, sizeof line, stdin) != NULL;) {
    struct task task = {.kind = ""};
    int is_ping = sscanf(line, "ping %ld", &task.count) == 1;
    if (is_ping) strcpy(task.kind, "ping");
    if (!is_ping && sscanf(line, "%7s %ld %ld", task.kind, &task.bytes, &task.count) != 3) return 2;
    if (task.count < 1 || (is_ping && task.count > MOST_PINGS)) return 2;
    printf("%.3f\n", measure(connection, &task));
    fflush(stdout);
  }
  return 0;
}
