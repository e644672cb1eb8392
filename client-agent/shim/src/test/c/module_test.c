// SPDX-License-Identifier: Apache-2.0
// Modules, their functions and launches, through the exported entry points.
#include "harness.h"
#include "peer_context.h"
#include "shim.h"

#include "exports.h"

static const char ptx[] = ".version 8.0\n.target sm_80\n";

static void kernel_ofModuleAndOfLibrary_launches(void) {
  begin();
  CUdeviceptr device;
  CUmodule module;
  CUfunction function;
  CUlibrary library;
  CUkernel kernel;
  uint32_t value = 5, got = 0;
  CHECK_OK(cuMemAlloc_v2(&device, 64));
  void *parameters[] = {&device, &value};
  CHECK_OK(cuModuleLoadData(&module, ptx));
  CHECK_OK(cuModuleGetFunction(&function, module, "store"));
  CHECK_RESULT(500, cuModuleGetFunction(&function, module, "no such"));
  CHECK_OK(cuModuleGetFunction(&function, module, "store"));
  CHECK_OK(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, parameters, NULL));
  CHECK_OK(cuMemcpyDtoH_v2(&got, device, 4));
  CHECK(got == 5);
  struct {
    CUdeviceptr address;
    uint32_t value;
  } packed = {device, 6};
  size_t size = 12;
  void *extra[] = {(void *)1, &packed, (void *)2, &size, NULL};
  CHECK_OK(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, extra));
  CHECK_OK(cuMemcpyDtoH_v2(&got, device, 4));
  CHECK(got == 6);
  CUlibraryOption preserved = 1;
  CHECK_RESULT(1, cuLibraryLoadData(&library, ptx, NULL, NULL, 0, NULL, NULL, 1));
  CHECK_RESULT(1, cuLibraryLoadFromFile(&library, "/nowhere", NULL, NULL, 0, &preserved, NULL, 1));
  CHECK_OK(cuLibraryLoadData(&library, ptx, NULL, NULL, 0, &preserved, NULL, 1));
  CHECK_OK(cuLibraryGetKernel(&kernel, library, "store"));
  value = 7;
  CHECK_OK(cuLaunchKernel((CUfunction)kernel, 1, 1, 1, 1, 1, 1, 0, NULL, parameters, NULL));
  CHECK_OK(cuMemcpyDtoH_v2(&got, device, 4));
  CHECK(got == 7);
  CHECK_OK(cuFuncSetBlockShape(function, 1, 1, 1));
  CHECK_OK(cuParamSetSize(function, 12));
  CHECK_OK(cuParamSetv(function, 0, &device, 8));
  CHECK_OK(cuParamSeti(function, 8, 8));
  CHECK_OK(cuLaunchGrid(function, 1, 1));
  CHECK_OK(cuMemcpyDtoH_v2(&got, device, 4));
  CHECK(got == 8);
  CHECK_RESULT(1, cuLaunchKernel(function, 0, 1, 1, 1, 1, 1, 0, NULL, parameters, NULL));
  CHECK_RESULT(1, cuLaunchKernel(function, 1, 1, 1, 1024, 2, 1, 0, NULL, parameters, NULL));
  CHECK_RESULT(400, cuLaunchKernel((CUfunction)&packed, 1, 1, 1, 1, 1, 1, 0, NULL, parameters, NULL));
  CHECK_OK(cuModuleUnload(module));
  CHECK_RESULT(400, cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, parameters, NULL));
  CHECK_OK(cuLibraryUnload(library));
  CHECK_RESULT(400, cuLaunchKernel((CUfunction)kernel, 1, 1, 1, 1, 1, 1, 0, NULL, parameters, NULL));
}

/** Six functions in two parts, which do not come with their module. */
static bool list_in_parts(struct peer_session *session, const struct frame *frame) {
  uint64_t out[16] = {0};
  if (frame->op == OP_moduleLoad) {
    peer_reply(session, frame, 0, out, (frame->slot[4] ? 8u : 0) + (frame->slot[5] ? 8u : 0) + 8u);
    return true;
  }
  if (frame->op != OP_moduleListFunctions) return false;
  uint32_t first = (uint32_t)frame->slot[2], count = first ? 2 : 4;
  out[0] = 8 + 16 * count;
  out[1] = 6;
  for (uint32_t i = 0; i < count; i++) {
    out[2 + 2 * i] = 2;  // bytes of the name, no parameters
    uint8_t name[8] = {'f', (uint8_t)('0' + first + i)};
    memcpy(&out[3 + 2 * i], name, sizeof name);
  }
  peer_reply(session, frame, 0, out, (uint32_t)(8 + out[0]));
  return true;
}

static void functions_notListedWithTheirModule_areCountedAndListed(void) {
  peer.handler = list_in_parts;
  begin();
  CUmodule module;
  CUfunction functions[6], known;
  unsigned int count;
  const char *name;
  CHECK_OK(cuModuleLoadData(&module, ptx));
  CHECK_OK(cuModuleGetFunctionCount(&count, module));
  CHECK(count == 6);
  CHECK_OK(cuModuleEnumerateFunctions(functions, 6, module));
  CHECK_OK(cuFuncGetName(&name, functions[5]));
  CHECK(strcmp(name, "f5") == 0);
  CHECK_OK(cuModuleGetFunction(&known, module, "f5"));
  CHECK(known == functions[5]);
  CHECK_RESULT(500, cuModuleGetFunction(&known, module, "f6"));
}

static _Atomic int occupancies;

static bool count_occupancies(struct peer_session *session, const struct frame *frame) {
  (void)session;
  occupancies += frame->op == OP_functionBlocks;
  return false;
}

static int occupancies_of(CUfunction function, int threads) {
  int before = occupancies, blocks = 0;
  CHECK_OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, threads, 0));
  CHECK(blocks == 2048 / threads);
  return occupancies - before;
}

static void occupancy_ofTheSameBlocks_isAskedForOnceUntilTheFunctionChanges(void) {
  peer.handler = count_occupancies;
  begin();
  CUmodule module;
  CUfunction function;
  CHECK_OK(cuModuleLoadData(&module, ptx));
  CHECK_OK(cuModuleGetFunction(&function, module, "empty"));
  CHECK(occupancies_of(function, 128) == 1);
  CHECK(occupancies_of(function, 256) == 1);
  CHECK(occupancies_of(function, 128) == 0);
  CHECK_OK(cuFuncSetAttribute(function, 9, 50));
  CHECK(occupancies_of(function, 128) == 1);
  CHECK(occupancies_of(function, 128) == 0);
  CHECK_OK(cuFuncSetCacheConfig(function, 1));
  CHECK(occupancies_of(function, 128) == 1);
}

static bool fail_streams(struct peer_session *session, const struct frame *frame) {
  if (frame->op != OP_streamSynchronize) return false;
  peer_reply(session, frame, 719, NULL, 0);
  return true;
}

/** Launches a kernel while waits for a stream fail. */
static CUresult launch_failing(const char *blocking) {
  setenv("CUDA_LAUNCH_BLOCKING", blocking, 1);
  peer.handler = fail_streams;
  begin();
  CUmodule module;
  CUfunction function;
  CHECK_OK(cuModuleLoadData(&module, ptx));
  CHECK_OK(cuModuleGetFunction(&function, module, "empty"));
  return cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL);
}

static void launch_blocking_answersWhatTheKernelAnswers(void) { CHECK_RESULT(719, launch_failing("1")); }

static void launch_notBlocking_doesNotWait(void) { CHECK_OK(launch_failing("0")); }

static bool fail_load(struct peer_session *session, const struct frame *frame) {
  if (frame->op != OP_moduleLoad) return false;
  uint64_t payload[] = {4, 0x4f464e49, 5, 0x524f525245};
  peer_reply(session, frame, 218, payload, sizeof payload);
  return true;
}

static void jitLogs_failedLoad_areFilled(void) {
  peer.handler = fail_load;
  begin();
  CUmodule module;
  char info[8] = "?", error[4] = "?";
  int options[] = {3, 4, 5, 6, 7};
  void *values[] = {info, (void *)8, error, (void *)4, (void *)3};
  CHECK_RESULT(218, cuModuleLoadDataEx(&module, ptx, 5, options, values));
  CHECK(strcmp(info, "INFO") == 0 && values[1] == (void *)4);
  CHECK(strcmp(error, "ERR") == 0 && values[3] == (void *)3);
}

static void image_unknown_isRefused(void) {
  begin();
  CUmodule module;
  CHECK_RESULT(200, cuModuleLoadData(&module, ""));
  CHECK_RESULT(301, cuModuleLoad(&module, "/nonexistent"));
  CHECK_RESULT(1, cuModuleLoadData(&module, NULL));
}

int main(void) {
  CASE(occupancy_ofTheSameBlocks_isAskedForOnceUntilTheFunctionChanges);
  CASE(kernel_ofModuleAndOfLibrary_launches);
  CASE(functions_notListedWithTheirModule_areCountedAndListed);
  CASE(launch_blocking_answersWhatTheKernelAnswers);
  CASE(launch_notBlocking_doesNotWait);
  CASE(jitLogs_failedLoad_areFilled);
  CASE(image_unknown_isRefused);
  return test_result();
}
