// SPDX-License-Identifier: Apache-2.0
#include "transport/descriptors.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

bool descriptor_send(int socket, int descriptor) {
  char byte = 0;
  struct iovec vector = {&byte, 1};
  union {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(sizeof descriptor)];
  } control = {.header = {.cmsg_len = CMSG_LEN(sizeof descriptor), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS}};
  memcpy(CMSG_DATA(&control.header), &descriptor, sizeof descriptor);
  struct msghdr message = {
      .msg_iov = &vector,
      .msg_iovlen = 1,
      .msg_control = &control,
      .msg_controllen = sizeof control,
  };
  ssize_t sent;
  do {
    sent = sendmsg(socket, &message, MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  return sent == 1;
}

int descriptor_receive(int socket) {
  char byte;
  struct iovec vector = {&byte, 1};
  union {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(4 * sizeof(int))];
  } control;
  struct msghdr message = {
      .msg_iov = &vector,
      .msg_iovlen = 1,
      .msg_control = &control,
      .msg_controllen = sizeof control,
  };
  ssize_t count;
  do {
    count = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  } while (count < 0 && errno == EINTR);
  int first = -1;
  if (count != 1) return first;
  for (struct cmsghdr *at = CMSG_FIRSTHDR(&message); at; at = CMSG_NXTHDR(&message, at)) {
    if (at->cmsg_level != SOL_SOCKET || at->cmsg_type != SCM_RIGHTS) continue;
    size_t descriptors = (at->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < descriptors; i++) {
      int descriptor;
      memcpy(&descriptor, CMSG_DATA(at) + i * sizeof descriptor, sizeof descriptor);
      if (first < 0) {
        first = descriptor;
      } else {
        close(descriptor);
      }
    }
  }
  return first;
}
