// SPDX-License-Identifier: Apache-2.0
#include "transport/text_message.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

void text_begin(struct text_message *message) {
  message->magic = TEXT_MAGIC;
  message->bytes = 0;
}

void text_add(struct text_message *message, const char *key, const char *value) {
  char *at = message->text + message->bytes;
  char *end = message->text + TEXT_MAX_BYTES;
  size_t keyBytes = strlen(key);
  if ((size_t)(end - at) < keyBytes + 1) return;
  memcpy(at, key, keyBytes);
  at += keyBytes;
  *at++ = '=';
  for (const char *from = value; *from; from++) {
    bool escaped = *from == '\\' || *from == '\n';
    if (end - at < 2 + escaped) return;
    if (escaped) *at++ = '\\';
    *at++ = *from == '\n' ? 'n' : *from;
  }
  if (at == end) return;
  *at++ = '\n';
  message->bytes = (uint32_t)(at - message->text);
}

void text_get(const struct text_message *message, const char *key, char *value, size_t bytes) {
  size_t keyBytes = strlen(key);
  const char *at = message->text;
  const char *end = at + message->bytes;
  char *to = value;
  char *last = value + bytes - 1;
  while (at < end) {
    const char *lineEnd = memchr(at, '\n', (size_t)(end - at));
    if (!lineEnd) lineEnd = end;
    bool found = (size_t)(lineEnd - at) > keyBytes && memcmp(at, key, keyBytes) == 0 &&
                 at[keyBytes] == '=';
    if (found) {
      for (at += keyBytes + 1; at < lineEnd && to < last; at++) {
        if (*at == '\\' && at + 1 < lineEnd) {
          at++;
          *to++ = *at == 'n' ? '\n' : *at;
        } else {
          *to++ = *at;
        }
      }
      break;
    }
    at = lineEnd + 1;
  }
  *to = '\0';
}

bool text_send(const struct text_message *message, int descriptor) {
  const char *at = (const char *)message;
  size_t left = TEXT_HEADER_BYTES + message->bytes;
  while (left) {
    ssize_t sent = send(descriptor, at, left, MSG_NOSIGNAL);
    if (sent < 0) {
      if (errno == EINTR) continue;
      return false;
    }
    at += sent;
    left -= (size_t)sent;
  }
  return true;
}

static bool receive_all(int descriptor, void *to, size_t left) {
  char *at = to;
  while (left) {
    ssize_t got = recv(descriptor, at, left, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    at += got;
    left -= (size_t)got;
  }
  return true;
}

bool text_receive(struct text_message *message, int descriptor) {
  return receive_all(descriptor, message, TEXT_HEADER_BYTES) && message->magic == TEXT_MAGIC &&
         message->bytes <= TEXT_MAX_BYTES && receive_all(descriptor, message->text, message->bytes);
}
