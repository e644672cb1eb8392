// SPDX-License-Identifier: Apache-2.0
// A program that says how many of its call streams are of its own machine, and how much of its memory a worker has
// mapped. It breaks the streams between its calls.
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

/** Returns how many pieces of page-locked memory are files in memory, which a worker may have mapped, too. */
static int shared_memories(void) {
  char line[512];
  int found = 0;
  FILE *maps = fopen("/proc/self/maps", "r");
  if (maps == NULL) fail("no /proc/self/maps");
  while (fgets(line, sizeof line, maps)) found += strstr(line, "gpupool-page-locked") != NULL;
  fclose(maps);
  return found;
}

/** Copies values to the device and back, over streams that break in between. */
static void copy(CUdeviceptr memory, unsigned *sent, unsigned *received, int round) {
  for (unsigned i = 0; i < COUNT; i++) sent[i] = i * 2654435761u + (unsigned)round;
  CHECK(cuMemcpyHtoDAsync(memory, sent, BYTES, NULL));
  if (round > 0) local_streams(1);
  CHECK(cuMemcpyDtoHAsync(received, memory, BYTES, NULL));
  CHECK(cuCtxSynchronize());
  if (memcmp(sent, received, BYTES) != 0) fail("round %d: other values", round);
}

int main(int argc, char **argv) {
  int breaks = argc > 1 ? atoi(argv[1]) : 0;
  static unsigned sent[COUNT], received[COUNT];
  void *lockedSent, *lockedReceived;
  CUcontext context;
  CUdeviceptr memory;
  CHECK(cuInit(0));
  CHECK(cuDevicePrimaryCtxRetain(&context, 0));
  CHECK(cuCtxSetCurrent(context));
  CHECK(cuMemAlloc(&memory, BYTES));
  CHECK(cuMemAllocHost(&lockedSent, BYTES));
  CHECK(cuMemAllocHost(&lockedReceived, BYTES));
  printf("local streams: %d, shared memories: %d\n", local_streams(0), shared_memories());
  for (int round = 0; round <= breaks; round++) {
    copy(memory, sent, received, round);
    copy(memory, lockedSent, lockedReceived, round);
  }
  CHECK(cuMemFreeHost(lockedSent));
  CHECK(cuMemFreeHost(lockedReceived));
  printf("local streams: %d\n", local_streams(0));
  CHECK(cuMemFree(memory));
  printf("local_stream: OK\n");
  return 0;
}
