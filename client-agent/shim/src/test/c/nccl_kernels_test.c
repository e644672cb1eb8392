// SPDX-License-Identifier: Apache-2.0
// A program with an NCCL of its own, which asks for that library's kernels.
#include "harness.h"
#include "peer_context.h"

#include "exports.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SAID "an NCCL of its own"

static const char ptx[] = ".version 8.0\n.target sm_80\n";

/** Asks for kernels twice; returns what was said meanwhile. */
static const char *said_to(const char *kernel) {
  static char said[4096];
  CUmodule module;
  CUfunction function;
  FILE *errors = tmpfile();
  begin();
  CHECK(dup2(fileno(errors), STDERR_FILENO) == STDERR_FILENO);
  CHECK_OK(cuModuleLoadData(&module, ptx));
  CHECK_RESULT(500, cuModuleGetFunction(&function, module, kernel));
  CHECK_RESULT(500, cuModuleGetFunction(&function, module, kernel));
  rewind(errors);
  said[fread(said, 1, sizeof said - 1, errors)] = 0;
  return said;
}

static void kernels_ofNccl_areWarnedOfOnce(void) {
  peer.hasCollectives = true;
  const char *said = said_to("_Z21ncclDevKernel_Generic24ncclDevKernelArgsStorageILm4096EE");
  const char *first = strstr(said, SAID);
  CHECK(first && !strstr(first + 1, SAID));
}

static void kernels_ofOlderNccl_areWarnedOf(void) {
  peer.hasCollectives = true;
  CHECK(strstr(said_to("_Z27ncclKernel_AllReduce_RING_LL11ncclDevComm"), SAID));
}

static void kernels_ofNcclThatIsWanted_areNotWarnedOf(void) {
  peer.hasCollectives = true;
  setenv("GPUPOOL_NCCL", "off", 1);
  CHECK(!strstr(said_to("ncclDevKernel_SendRecv"), SAID));
}

static void kernels_ofNcclWhereServersHaveNone_areNotWarnedOf(void) {
  CHECK(!strstr(said_to("ncclDevKernel_SendRecv"), SAID));
}

static void otherKernels_areNotWarnedOf(void) {
  peer.hasCollectives = true;
  CHECK(!strstr(said_to("ncclish"), SAID));
}

int main(void) {
  CASE(kernels_ofNccl_areWarnedOfOnce);
  CASE(kernels_ofOlderNccl_areWarnedOf);
  CASE(kernels_ofNcclThatIsWanted_areNotWarnedOf);
  CASE(kernels_ofNcclWhereServersHaveNone_areNotWarnedOf);
  CASE(otherKernels_areNotWarnedOf);
  return test_result();
}
