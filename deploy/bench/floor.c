// SPDX-License-Identifier: Apache-2.0
// Measures a TCP connection to another host: the floor of everything that crosses a network.
//
// Usage: floor serve PORT | floor HOST PORT
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "figures.h"

enum { PING_BYTES = 64, PINGS = 500, CHUNK_BYTES = 1 << 20 };

static const double STREAM_SECONDS = 0.5;

static void fail(const char *what) {
  perror(what);
  exit(1);
}

static void transfer(int socket, char *bytes, size_t length, int sends) {
  for (size_t done = 0; done < length;) {
    ssize_t part = sends ? send(socket, bytes + done, length - done, MSG_NOSIGNAL)
                         : recv(socket, bytes + done, length - done, 0);
    if (part <= 0) fail("the connection");
    done += (size_t)part;
  }
}

static struct sockaddr_in address(const char *host, const char *port) {
  struct sockaddr_in place = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(port))};
  if (inet_pton(AF_INET, host, &place.sin_addr) != 1) fail(host);
  return place;
}

/** Answers one client after the other: pings until one begins with 's', then a stream until it ends. */
static void serve(const char *port) {
  struct sockaddr_in place = address("0.0.0.0", port);
  int listener = socket(AF_INET, SOCK_STREAM, 0), on = 1;
  static char chunk[CHUNK_BYTES];
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (bind(listener, (struct sockaddr *)&place, sizeof place) || listen(listener, 1)) fail(port);
  printf("ready\n");
  fflush(stdout);
  for (;;) {
    int client = accept(listener, NULL, NULL);
    setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    do {
      transfer(client, chunk, PING_BYTES, 0);
      transfer(client, chunk, PING_BYTES, 1);
    } while (chunk[0] != 's');
    while (recv(client, chunk, sizeof chunk, 0) > 0) {}
    close(client);
  }
}

static void measure_floor(const char *host, const char *port) {
  struct sockaddr_in place = address(host, port);
  int connection = socket(AF_INET, SOCK_STREAM, 0), on = 1;
  if (connect(connection, (struct sockaddr *)&place, sizeof place)) fail(host);
  setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  static double micros[PINGS];
  static char chunk[CHUNK_BYTES];
  for (int i = 0; i <= PINGS; i++) {
    double start = now_seconds();
    chunk[0] = i == PINGS ? 's' : 'p';
    transfer(connection, chunk, PING_BYTES, 1);
    transfer(connection, chunk, PING_BYTES, 0);
    if (i < PINGS) micros[i] = (now_seconds() - start) * 1e6;
  }
  figure("link_ping_pong_p50", median(micros, PINGS), "us");
  double start = now_seconds();
  size_t sent = 0;
  while (now_seconds() - start < STREAM_SECONDS) {
    transfer(connection, chunk, sizeof chunk, 1);
    sent += sizeof chunk;
  }
  figure("link_stream", (double)sent / (now_seconds() - start) / 1e9, "GBps");
}

int main(int count, char **words) {
  if (count != 3) {
    fprintf(stderr, "usage: floor serve PORT | floor HOST PORT\n");
    return 2;
  }
  if (!strcmp(words[1], "serve")) serve(words[2]);
  figures_as_json = 1;
  measure_floor(words[1], words[2]);
  figures_end();
  return 0;
}
