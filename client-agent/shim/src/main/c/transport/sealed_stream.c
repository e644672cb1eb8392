// SPDX-License-Identifier: Apache-2.0
#include "transport/sealed_stream.h"

#include "transport/session_state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum {
  BATCH_RECORDS = 8,
  OUTGOING_BYTES = BATCH_RECORDS * SEAL_RECORD_BYTES,
  INCOMING_BYTES = 128 << 10,
  PAGE_BYTES = 4096,
  MOST_PAGES = BATCH_RECORDS * SEAL_CONTENT_BYTES / PAGE_BYTES + 1,
  POPULATE_READ = 22,  // MADV_POPULATE_READ of Linux 5.14
};

static const uint8_t zeros[PAGE_BYTES];

static int digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool parse(const char *text, uint8_t secret[SEAL_SECRET_BYTES]) {
  if (strlen(text) != SEAL_SECRET_DIGITS) return false;
  for (int i = 0; i < SEAL_SECRET_BYTES; i++) {
    int high = digit(text[2 * i]), low = digit(text[2 * i + 1]);
    if (high < 0 || low < 0) return false;
    secret[i] = (uint8_t)(high << 4 | low);
  }
  return true;
}

static bool map(uint8_t **buffer, size_t bytes) {
  if (*buffer) return true;
  void *mapped = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return false;
  *buffer = mapped;
  return true;
}

bool sealed_begin(struct connection *connection, const char *text) {
  struct seal *seal = &connection->seal;
  uint8_t secret[SEAL_SECRET_BYTES];
  seal->on = *text != '\0';
  seal->sent = seal->ready = seal->part = 0;
  if (!seal->on) return true;
  return parse(text, secret) && map(&seal->outgoing, OUTGOING_BYTES) && map(&seal->incoming, INCOMING_BYTES) &&
         seal_begin(&seal->sealing, secret, SEAL_BY_PROGRAM, false) &&
         seal_begin(&seal->opening, secret, SEAL_BY_WORKER, true);
}

void sealed_altered(void) {
  session_lose(CUDA_ERROR_DEVICE_UNAVAILABLE, "a record of its call stream was altered");
}

/** How many bytes from an address on can be read, as far as whole pages tell. The cipher would end the process. */
static size_t readable(const void *from, size_t bytes) {
  struct iovec remote[MOST_PAGES], local;
  uint8_t probes[MOST_PAGES];
  uintptr_t at = (uintptr_t)from, end = at + bytes, page = at & ~(uintptr_t)(PAGE_BYTES - 1);
  unsigned long count = 0;
  // A quarter of the time that looking at each page takes; fails if one cannot be read, or the kernel is older.
  if (madvise((void *)page, end - page, POPULATE_READ) == 0) return bytes;
  for (; at < end && count < MOST_PAGES; at = (at | (PAGE_BYTES - 1)) + 1) {
    remote[count++] = (struct iovec){(void *)at, 1};
  }
  local = (struct iovec){probes, count};
  long read = syscall(SYS_process_vm_readv, getpid(), &local, 1UL, remote, count, 0UL);
  if (read < 0 && errno != EFAULT) return bytes;
  size_t whole = read < 0 ? 0 : (size_t)read;
  return whole == count ? bytes : whole ? (uintptr_t)remote[whole].iov_base - (uintptr_t)from : 0;
}

/** Cuts buffers to what one filling takes and can be read; answers its length. */
static size_t cut_to_size(struct connection *connection, struct iovec *vector, int *count, bool *faulted) {
  size_t total = 0;
  int used = 0;
  while (used < *count && total < BATCH_RECORDS * SEAL_CONTENT_BYTES) {
    struct iovec *part = &vector[used++];
    size_t room = BATCH_RECORDS * SEAL_CONTENT_BYTES - total;
    if (part->iov_len > room) part->iov_len = room;
    size_t whole = connection_owns(connection, part->iov_base) ? part->iov_len : readable(part->iov_base, part->iov_len);
    if (whole < part->iov_len) {
      if (!total && !whole) {
        size_t page = PAGE_BYTES - (uintptr_t)part->iov_base % PAGE_BYTES;
        whole = part->iov_len < page ? part->iov_len : page;
        part->iov_base = (void *)zeros;
        *faulted = true;
      }
      part->iov_len = whole;
      total += whole;
      break;
    }
    total += whole;
  }
  *count = used;
  return total;
}

size_t sealed_fill(struct connection *connection, const struct iovec *buffers, int count, bool *faulted) {
  enum { MOST_BUFFERS = 40 };
  struct seal *seal = &connection->seal;
  struct iovec vector[MOST_BUFFERS + 1], *at = vector;
  if (count > MOST_BUFFERS) count = MOST_BUFFERS;
  memcpy(vector, buffers, (size_t)count * sizeof *vector);
  size_t total = cut_to_size(connection, vector, &count, faulted), left = total;
  seal->sent = seal->ready = 0;
  while (left) {
    size_t bytes = left < SEAL_CONTENT_BYTES ? left : SEAL_CONTENT_BYTES;
    size_t record = seal_record(&seal->sealing, at, bytes, seal->outgoing + seal->ready);
    if (!record) return 0;
    seal->ready += (uint32_t)record;
    left -= bytes;
    for (; bytes && bytes >= at->iov_len; at++) bytes -= at->iov_len;
    at->iov_base = (uint8_t *)at->iov_base + bytes;
    at->iov_len -= bytes;
  }
  return total;
}

/** Opens the whole records that have come; answers the length of their content, or -1. */
static ssize_t open_all(struct seal *seal, uint8_t *content) {
  size_t at = 0, opened = 0;
  while (seal->part - at >= SEAL_HEADER_BYTES) {
    size_t record = seal_record_bytes(seal->incoming + at);
    if (record && seal->part - at < record) break;
    size_t bytes = record ? seal_open(&seal->opening, seal->incoming + at, record, content + opened) : 0;
    if (!bytes) {
      errno = EBADMSG;
      return -1;
    }
    opened += bytes;
    at += record;
  }
  seal->part -= (uint32_t)at;
  memmove(seal->incoming, seal->incoming + at, seal->part);
  return (ssize_t)opened;
}

ssize_t sealed_receive(struct connection *connection, uint8_t *content, uint32_t roomBytes, bool wait) {
  struct seal *seal = &connection->seal;
  uint32_t most = INCOMING_BYTES < roomBytes ? INCOMING_BYTES : roomBytes;
  for (;;) {
    // All that comes has room: what was left would wait for something else to come.
    ssize_t got = recv(connection->stream, seal->incoming + seal->part, most - seal->part, wait ? 0 : MSG_DONTWAIT);
    if (got <= 0) return got;
    seal->part += (uint32_t)got;
    ssize_t opened = open_all(seal, content);
    if (opened) return opened;
  }
}

bool sealed_send_one(struct connection *connection, int stream, const void *content, size_t bytes) {
  struct seal *seal = &connection->seal;
  struct iovec vector = {(void *)content, bytes};
  size_t record = seal_record(&seal->sealing, &vector, bytes, seal->outgoing);
  return record && send(stream, seal->outgoing, record, MSG_NOSIGNAL) == (ssize_t)record;
}

static bool receive_all(int stream, uint8_t *to, size_t bytes) {
  while (bytes) {
    ssize_t got = recv(stream, to, bytes, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    to += got;
    bytes -= (size_t)got;
  }
  return true;
}

ssize_t sealed_receive_one(struct connection *connection, int stream, void *content, size_t roomBytes) {
  struct seal *seal = &connection->seal;
  errno = 0;
  if (!receive_all(stream, seal->incoming, SEAL_HEADER_BYTES)) return -1;
  size_t record = seal_record_bytes(seal->incoming), opened = 0;
  if (record && record <= roomBytes + SEAL_ADDED_BYTES - 1) {
    if (!receive_all(stream, seal->incoming + SEAL_HEADER_BYTES, record - SEAL_HEADER_BYTES)) return -1;
    opened = seal_open(&seal->opening, seal->incoming, record, content);
  }
  if (opened) return (ssize_t)opened;
  errno = EBADMSG;
  return -1;
}
