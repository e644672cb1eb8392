// SPDX-License-Identifier: Apache-2.0
// A libnccl.so.2 that is not gpupool's, of a few functions; it remembers what it was called with.
#include <stddef.h>
#include <string.h>

typedef struct {
  char bytes[128];
} identifier;

#define EXPORTED __attribute__((visibility("default")))

EXPORTED struct {
  void *made;
  int ranks, rank;
  identifier id;
  const void *in;
  void *out, *communicator, *stream;
  size_t count;
  int type, operation, root;
} otherCalls;

EXPORTED int ncclCommInitRank(void **made, int ranks, identifier id, int rank);
EXPORTED int ncclReduce(const void *in, void *out, size_t count, int type, int operation, int root, void *communicator,
                        void *stream);
EXPORTED int ncclGroupStart(void);
EXPORTED int ncclGetVersion(int *version);

int ncclCommInitRank(void **made, int ranks, identifier id, int rank) {
  otherCalls.made = made;
  otherCalls.ranks = ranks;
  otherCalls.rank = rank;
  memcpy(&otherCalls.id, &id, sizeof id);
  return 100;
}

int ncclReduce(const void *in, void *out, size_t count, int type, int operation, int root, void *communicator,
               void *stream) {
  otherCalls.in = in;
  otherCalls.out = out;
  otherCalls.count = count;
  otherCalls.type = type;
  otherCalls.operation = operation;
  otherCalls.root = root;
  otherCalls.communicator = communicator;
  otherCalls.stream = stream;
  return 101;
}

int ncclGroupStart(void) { return 102; }

int ncclGetVersion(int *version) {
  *version = 12345;
  return 0;
}
