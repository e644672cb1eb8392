// SPDX-License-Identifier: Apache-2.0
// A program that says how many of its call streams are of its own machine, and breaks them between its calls.
// Arguments: a number of breaks.
#include <dirent.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "../../../examples/driver-api/driver.h"

enum { COUNT = 1 << 18, BYTES = COUNT * (int)sizeof(unsigned) };

/** Whether a descriptor is connected to a server's socket; its name may begin with a zero. */
static int is_local_stream(int descriptor) {
  struct sockaddr_un peer = {0};
  socklen_t length = sizeof peer;
  if (getpeername(descriptor, (struct sockaddr *)&peer, &length) != 0 || peer.sun_family != AF_UNIX) return 0;
  char name[sizeof peer.sun_path + 1] = {0};
  memcpy(name, peer.sun_path, sizeof peer.sun_path);
  return strstr(name[0] == '\0' ? name + 1 : name, "gpupool-stream-") != NULL;
}

/** Returns the number of local streams, all of which are shut down if they are to break. */
static int local_streams(int breaks) {
  int found = 0;
  DIR *descriptors = opendir("/proc/self/fd");
  if (descriptors == NULL) fail("no /proc/self/fd");
  for (struct dirent *entry; (entry = readdir(descriptors)) != NULL;) {
    int descriptor = atoi(entry->d_name);
    if (!is_local_stream(descriptor)) continue;
    found++;
    if (breaks) shutdown(descriptor, SHUT_RDWR);
  }
  closedir(descriptors);
  return found;
}

int main(int argc, char **argv) {
  int breaks = argc > 1 ? atoi(argv[1]) : 0;
  static unsigned sent[COUNT], received[COUNT];
  CUcontext context;
  CUdeviceptr memory;
  CHECK(cuInit(0));
  CHECK(cuDevicePrimaryCtxRetain(&context, 0));
  CHECK(cuCtxSetCurrent(context));
  CHECK(cuMemAlloc(&memory, BYTES));
  printf("local streams: %d\n", local_streams(0));
  for (int round = 0; round <= breaks; round++) {
    for (unsigned i = 0; i < COUNT; i++) sent[i] = i * 2654435761u + (unsigned)round;
    CHECK(cuMemcpyHtoD(memory, sent, BYTES));
    if (round > 0) local_streams(1);
    CHECK(cuMemcpyDtoH(received, memory, BYTES));
    if (memcmp(sent, received, BYTES) != 0) fail("round %d: other values", round);
  }
  printf("local streams: %d\n", local_streams(0));
  CHECK(cuMemFree(memory));
  printf("local_stream: OK\n");
  return 0;
}
