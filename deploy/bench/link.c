// SPDX-License-Identifier: Apache-2.0
// A network link in user space: two TUN devices, and what a wire between them does to packets.
//
//   link RTT_MICROS MBIT_PER_SECOND LOSS_PERCENT [NAMESPACE]
//
// One device, gpupool-near, is in the network namespace of that name, the other, gpupool-far, in
// this process's own. "ready" on standard output says that both exist. It runs until it is killed.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

// Packets of up to 64 KiB, which stand for as many as a card's segmentation makes of them.
enum { PACKET_BYTES = 66000, MIN_QUEUE_BYTES = 1 << 20, MAX_QUEUE_BYTES = 128 << 20 };

struct packet {
  struct packet *next;
  uint64_t due;
  size_t length;
  unsigned char bytes[];
};

/** One direction of the link. */
struct direction {
  int from, to;
  uint64_t delay_nanos;
  double bytes_per_nano, loss;
  size_t queue_bytes;
  uint64_t random, wire_free_at;
  struct packet *first, **last;
};

static uint64_t now_nanos(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static void fail(const char *what) {
  perror(what);
  exit(1);
}

/** Makes a TUN device; with segmentation by the kernel unless packets get lost one by one. */
static int make_device(const char *name, int whole) {
  int fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
  struct ifreq request = {.ifr_flags = IFF_TUN | IFF_NO_PI | IFF_VNET_HDR};
  if (fd < 0) fail("/dev/net/tun");
  strncpy(request.ifr_name, name, IFNAMSIZ - 1);
  if (ioctl(fd, TUNSETIFF, &request)) fail("TUNSETIFF");
  if (whole && ioctl(fd, TUNSETOFFLOAD, TUN_F_CSUM | TUN_F_TSO4)) fail("TUNSETOFFLOAD");
  return fd;
}

static int make_device_in(const char *space, const char *name, int whole) {
  char path[256];
  int own = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
  snprintf(path, sizeof path, "/run/netns/%s", space);
  int other = open(path, O_RDONLY | O_CLOEXEC);
  if (other < 0 || own < 0) fail(path);
  if (setns(other, CLONE_NEWNET)) fail("setns");
  int fd = make_device(name, whole);
  if (setns(own, CLONE_NEWNET)) fail("setns");
  close(other);
  close(own);
  return fd;
}

/** xorshift64 */
static double random_part(struct direction *way) {
  way->random ^= way->random << 13;
  way->random ^= way->random >> 7;
  way->random ^= way->random << 17;
  return (double)(way->random >> 11) / (double)(1ull << 53);
}

/** Queues a packet until the wire has carried it; one that finds the queue full is lost. */
static void queue(struct direction *way, const unsigned char *bytes, size_t length) {
  uint64_t now = now_nanos();
  if (way->wire_free_at < now) way->wire_free_at = now;
  if ((double)(way->wire_free_at - now) * way->bytes_per_nano > (double)way->queue_bytes) return;
  way->wire_free_at += (uint64_t)((double)length / way->bytes_per_nano);
  if (way->loss > 0 && random_part(way) < way->loss) return;
  struct packet *packet = malloc(sizeof *packet + length);
  if (!packet) fail("malloc");
  packet->next = NULL;
  packet->due = way->wire_free_at + way->delay_nanos;
  packet->length = length;
  memcpy(packet->bytes, bytes, length);
  *way->last = packet;
  way->last = &packet->next;
}

static void deliver(struct direction *way) {
  while (way->first && way->first->due <= now_nanos()) {
    struct packet *packet = way->first;
    // A device that is full drops it, as a receiver's card does.
    ssize_t ignored = write(way->to, packet->bytes, packet->length);
    (void)ignored;
    way->first = packet->next;
    if (!way->first) way->last = &way->first;
    free(packet);
  }
}

static void *run(void *argument) {
  static _Thread_local unsigned char buffer[PACKET_BYTES];
  struct direction *way = argument;
  prctl(PR_SET_TIMERSLACK, 1);
  for (;;) {
    struct timespec left, *limit = NULL;
    if (way->first) {
      uint64_t now = now_nanos(), due = way->first->due;
      uint64_t nanos = due > now ? due - now : 0;
      left = (struct timespec){(time_t)(nanos / 1000000000), (long)(nanos % 1000000000)};
      limit = &left;
    }
    struct pollfd poll = {.fd = way->from, .events = POLLIN};
    if (ppoll(&poll, 1, limit, NULL) < 0 && errno != EINTR) fail("ppoll");
    ssize_t length;
    while ((length = read(way->from, buffer, sizeof buffer)) > 0) {
      queue(way, buffer, (size_t)length);
      deliver(way);
    }
    deliver(way);
  }
  return NULL;
}

int main(int count, char **words) {
  if (count < 4) {
    fprintf(stderr, "usage: link RTT_MICROS MBIT_PER_SECOND LOSS_PERCENT [NAMESPACE]\n");
    return 2;
  }
  double rtt_nanos = atof(words[1]) * 1000, bytes_per_nano = atof(words[2]) / 8000;
  double loss = atof(words[3]) / 100;
  double queue_bytes = 2 * rtt_nanos * bytes_per_nano;
  int far = make_device("gpupool-far", loss == 0);
  int near = count > 4 ? make_device_in(words[4], "gpupool-near", loss == 0) : make_device("gpupool-near", loss == 0);
  struct direction ways[2];
  for (int i = 0; i < 2; i++) {
    ways[i] = (struct direction){
        .from = i ? near : far,
        .to = i ? far : near,
        .delay_nanos = (uint64_t)(rtt_nanos / 2),
        .bytes_per_nano = bytes_per_nano,
        .loss = loss,
        .queue_bytes = (size_t)(queue_bytes < MIN_QUEUE_BYTES   ? MIN_QUEUE_BYTES
                                : queue_bytes > MAX_QUEUE_BYTES ? MAX_QUEUE_BYTES
                                                                : queue_bytes),
        .random = 0x9e3779b97f4a7c15u + (uint64_t)i,
    };
    ways[i].last = &ways[i].first;
  }
  puts("ready");
  fflush(stdout);
  pthread_t thread;
  if (pthread_create(&thread, NULL, run, &ways[1])) fail("pthread_create");
  run(&ways[0]);
  return 0;
}
