// SPDX-License-Identifier: Apache-2.0
// The main road and its edges, through the exported entry points, against a peer in this process.
#include "harness.h"
#include "peer.h"
#include "shim.h"

#include "exports.h"

static struct peer peer;

static CUcontext begin(void) {
  CUcontext context;
  peer_start(&peer);
  CHECK_OK(cuInit(0));
  CHECK_OK(cuDevicePrimaryCtxRetain(&context, 0));
  CHECK_OK(cuCtxSetCurrent(context));
  return context;
}

static void call_beforeInit_isNotInitialized(void) {
  int count;
  const char *name;
  CHECK_RESULT(3, cuDeviceGetCount(&count));
  CHECK_OK(cuGetErrorName(3, &name));
  CHECK(strcmp(name, "CUDA_ERROR_NOT_INITIALIZED") == 0);
}

static void init_noAgent_isNotReady(void) {
  setenv("GPUPOOL_AGENT", "@gpupool-test-nobody", 1);
  CHECK_RESULT(802, cuInit(0));
  CHECK_RESULT(802, cuInit(0));
}

static void init_silentAgent_isNotReady(void) {
  static const char name[] = "\0gpupool-test-silent";
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  memcpy(address.sun_path, name, sizeof name - 1);
  int listener = socket(AF_UNIX, SOCK_STREAM, 0);
  CHECK_OK(bind(listener, (struct sockaddr *)&address,
                (socklen_t)(offsetof(struct sockaddr_un, sun_path) + sizeof name - 1)));
  CHECK_OK(listen(listener, 1));
  setenv("GPUPOOL_AGENT", "@gpupool-test-silent", 1);
  setenv("GPUPOOL_ATTACH_TIMEOUT", "1", 1);
  CHECK_RESULT(802, cuInit(0));
}

static void say_nothing(struct peer_session *session) { (void)session; }

static void init_silentWorker_isNotReady(void) {
  setenv("GPUPOOL_ATTACH_TIMEOUT", "1", 1);
  peer.welcome = say_nothing;
  peer_start(&peer);
  CHECK_RESULT(802, cuInit(0));
}

static void init_refusedLease_isNoDevice(void) {
  peer.refusal = "type=refused\ncause=refused\nmessage=no GPU is free\n";
  peer_start(&peer);
  CHECK_RESULT(100, cuInit(0));
}

static void init_otherContract_isNotReady(void) {
  peer.digestError = 1;
  peer_start(&peer);
  CHECK_RESULT(802, cuInit(0));
}

static void memory_roundTrip_isKept(void) {
  begin();
  enum { BYTES = 5 << 20 };
  CUdeviceptr device;
  uint8_t *out = malloc(BYTES), *in = malloc(BYTES);
  for (int i = 0; i < BYTES; i++) out[i] = (uint8_t)(i * 7 + i / 1000);
  CHECK_OK(cuMemAlloc_v2(&device, BYTES));
  for (int bytes = 1; bytes <= BYTES; bytes = bytes * 3 + 1) {
    memset(in, 0, BYTES);
    CHECK_OK(cuMemcpyHtoD_v2(device, out, (size_t)bytes));
    CHECK_OK(cuMemcpyDtoH_v2(in, device, (size_t)bytes));
    CHECK(memcmp(in, out, (size_t)bytes) == 0);
  }
  CHECK_RESULT(1, cuMemcpyHtoD_v2(device, out, BYTES + 1));
  CHECK_OK(cuMemFree_v2(device));
  CHECK_RESULT(1, cuMemFree_v2(device));
}

static void pointerAttribute_boolean_fillsAnInt(void) {
  begin();
  enum { IS_MANAGED = 8 };
  CUdeviceptr device;
  unsigned int known = 0xdeadbeef, unknown = 0xdeadbeef;
  CUpointer_attribute attribute = IS_MANAGED;
  CHECK_OK(cuMemAlloc_v2(&device, 256));
  CHECK_OK(cuPointerGetAttributes(1, &attribute, (void *[]){&known}, device));
  CHECK_OK(cuPointerGetAttributes(1, &attribute, (void *[]){&unknown}, 4096));
  CHECK(known == 0 && unknown == 0);
}

static void memory_relayed_isKept(void) {
  peer.relay = true;
  memory_roundTrip_isKept();
}

static void pinned_asynchronousCopies_arriveByTheFence(void) {
  begin();
  enum { COUNT = 300000 };
  CUdeviceptr device;
  uint32_t *pinned, *back;
  CUstream stream;
  CHECK_OK(cuStreamCreate(&stream, 1));
  CHECK_OK(cuMemAllocHost_v2((void **)&pinned, COUNT * 4));
  CHECK_OK(cuMemHostAlloc((void **)&back, COUNT * 4, 0));
  CHECK_OK(cuMemAlloc_v2(&device, COUNT * 4));
  for (uint32_t round = 0; round < 10; round++) {
    for (uint32_t i = 0; i < COUNT; i++) pinned[i] = i * round;
    CHECK_OK(cuMemcpyHtoDAsync_v2(device, pinned, COUNT * 4, stream));
    CHECK_OK(cuMemcpyDtoHAsync_v2(back, device, COUNT * 4, stream));
    CHECK_OK(cuStreamSynchronize(stream));
    CHECK(memcmp(back, pinned, COUNT * 4) == 0);
  }
  // From what is on its way in, out again.
  CHECK_OK(cuMemsetD32Async(device, 77, COUNT, stream));
  CHECK_OK(cuMemcpyDtoHAsync_v2(back, device, COUNT * 4, stream));
  CUdeviceptr other;
  CHECK_OK(cuMemAlloc_v2(&other, COUNT * 4));
  CHECK_OK(cuMemcpyHtoDAsync_v2(other, back, COUNT * 4, stream));
  CHECK_OK(cuMemcpyDtoH_v2(pinned, other, COUNT * 4));
  CHECK(pinned[0] == 77 && pinned[COUNT - 1] == 77);
  CHECK_OK(cuMemFreeHost(pinned));
  CHECK_OK(cuMemFreeHost(back));
  CHECK_RESULT(1, cuMemFreeHost(back));
}

static void rectangles_copied_byRows(void) {
  begin();
  CUdeviceptr device;
  size_t pitch;
  uint8_t host[40][100], back[40][64];
  for (int y = 0; y < 40; y++) {
    for (int x = 0; x < 100; x++) host[y][x] = (uint8_t)(x + 3 * y);
  }
  CHECK_OK(cuMemAllocPitch_v2(&device, &pitch, 64, 40, 4));
  struct CUDA_MEMCPY2D copy = {.srcMemoryType = 1, .srcHost = host, .srcPitch = 100, .srcXInBytes = 10,
                               .dstMemoryType = 2, .dstDevice = device, .dstPitch = pitch,
                               .WidthInBytes = 64, .Height = 40};
  CHECK_OK(cuMemcpy2D_v2(&copy));
  struct CUDA_MEMCPY2D back2d = {.srcMemoryType = 2, .srcDevice = device, .srcPitch = pitch,
                                 .dstMemoryType = 1, .dstHost = back, .dstPitch = 64,
                                 .WidthInBytes = 64, .Height = 40};
  CHECK_OK(cuMemcpy2D_v2(&back2d));
  for (int y = 0; y < 40; y++) CHECK(memcmp(back[y], host[y] + 10, 64) == 0);
  copy.dstDevice = device + pitch;
  CHECK_RESULT(1, cuMemcpy2D_v2(&copy));
}

/** Longer than a frame both ways, with room between rows and slices on either side. */
static void boxes_longerThanFrames_arriveInPlace(void) {
  enum { WIDTH = 700, HEIGHT = 900, DEPTH = 5, PITCH = 720, ROWS = 910 };
  begin();
  CUdeviceptr device;
  size_t bytes = (size_t)PITCH * ROWS * DEPTH;
  uint8_t *host = malloc(bytes), *back = malloc(bytes);
  for (size_t i = 0; i < bytes; i++) host[i] = (uint8_t)(i * 7 + i / 1000);
  memset(back, 0xee, bytes);
  CHECK_OK(cuMemAlloc_v2(&device, bytes));
  struct CUDA_MEMCPY3D up = {.srcMemoryType = 1, .srcHost = host, .srcPitch = PITCH, .srcHeight = ROWS,
                             .dstMemoryType = 2, .dstDevice = device, .dstPitch = 704,
                             .dstHeight = HEIGHT, .WidthInBytes = WIDTH, .Height = HEIGHT,
                             .Depth = DEPTH};
  CHECK_OK(cuMemcpy3D_v2(&up));
  struct CUDA_MEMCPY3D down = {.srcMemoryType = 2, .srcDevice = device, .srcPitch = 704,
                               .srcHeight = HEIGHT, .dstMemoryType = 1, .dstHost = back,
                               .dstPitch = PITCH, .dstHeight = ROWS, .WidthInBytes = WIDTH,
                               .Height = HEIGHT, .Depth = DEPTH};
  CHECK_OK(cuMemcpy3D_v2(&down));
  for (int z = 0; z < DEPTH; z++) {
    for (int y = 0; y < ROWS; y++) {
      size_t row = ((size_t)z * ROWS + (size_t)y) * PITCH;
      bool inside = y < HEIGHT;
      CHECK(!inside || memcmp(back + row, host + row, WIDTH) == 0);
      for (int x = inside ? WIDTH : 0; x < PITCH; x++) CHECK(back[row + (size_t)x] == 0xee);
    }
  }
  down.dstPitch = WIDTH - 1;
  CHECK_RESULT(1, cuMemcpy3D_v2(&down));
  free(host);
  free(back);
}

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

static void attach_driversVariables_areToldByName(void) {
  setenv("CUDA_DEVICE_MAX_CONNECTIONS", "1", 1);
  setenv("CUDA_CACHE_PATH", "/nowhere", 1);
  setenv("CUDA_MODULE_LOADING", "LAZYLAZYLAZYLAZYLAZY", 1);
  begin();
  CHECK(strstr(peer.asked.text, "\nCUDA_DEVICE_MAX_CONNECTIONS=1\n"));
  CHECK(!strstr(peer.asked.text, "CUDA_CACHE_PATH"));
  CHECK(!strstr(peer.asked.text, "CUDA_MODULE_LOADING"));
}

static void handles_staleOrWild_areRefused(void) {
  CUcontext context = begin();
  CUstream stream;
  CUevent event;
  CHECK_OK(cuStreamCreate(&stream, 0));
  CHECK_OK(cuStreamDestroy_v2(stream));
  CHECK_RESULT(400, cuStreamDestroy_v2(stream));
  CHECK_RESULT(400, cuStreamSynchronize(stream));
  CHECK_RESULT(400, cuStreamSynchronize((CUstream)0x1234));
  CHECK_RESULT(400, cuStreamSynchronize((CUstream)((char *)stream + 8)));
  CHECK_OK(cuEventCreate(&event, 0));
  CHECK_RESULT(400, cuStreamSynchronize((CUstream)event));
  CHECK_OK(cuEventDestroy_v2(event));
  CHECK_RESULT(400, cuEventRecord(event, NULL));
  CHECK_RESULT(201, cuCtxSetCurrent((CUcontext)0x40));
  CUcontext created;
  CHECK_OK(cuCtxCreate_v2(&created, 0, 0));
  CHECK_OK(cuStreamCreate(&stream, 0));
  CHECK_OK(cuCtxPushCurrent_v2(created));
  CHECK_OK(cuCtxDestroy_v2(created));
  CHECK_RESULT(709, cuCtxSynchronize());
  CHECK_OK(cuCtxSetCurrent(context));
  CHECK_RESULT(400, cuStreamSynchronize(stream));
  CHECK_OK(cuCtxSynchronize());
}

static bool fail_fences(struct peer_session *session, const struct frame *frame) {
  if (frame->op != OP_ctxSynchronize) return false;
  peer_reply(session, frame, 700, NULL, 0);
  return true;
}

static void error_fatal_sticksToTheContext(void) {
  peer.handler = fail_fences;
  begin();
  CUdeviceptr device;
  CUstream stream;
  CHECK_RESULT(700, cuCtxSynchronize());
  CHECK_RESULT(700, cuMemAlloc_v2(&device, 1));
  CHECK_RESULT(700, cuStreamCreate(&stream, 0));
  CHECK_OK(cuDevicePrimaryCtxReset_v2(0));
  CUcontext context;
  CHECK_OK(cuDevicePrimaryCtxRetain(&context, 0));
  CHECK_OK(cuCtxSetCurrent(context));
  CHECK_OK(cuStreamCreate(&stream, 0));
}

static void perThreadStream_isAnotherInEachThread(void) {
  begin();
  unsigned long long first, again, legacy;
  CHECK_OK(cuStreamGetId_ptsz(NULL, &first));
  CHECK_OK(cuStreamGetId((CUstream)2, &again));
  CHECK_OK(cuStreamGetId(NULL, &legacy));
  CHECK(first == again && first != legacy);
  CHECK_OK(cuStreamSynchronize_ptsz(NULL));
}

static void procAddress_givesNewestNotNewer(void) {
  void *function;
  int status = -1;
  CHECK_OK(cuGetProcAddress_v2("cuMemAlloc", &function, 2000, 0, &status));
  CHECK(function == (void *)cuMemAlloc && status == 0);
  CHECK_OK(cuGetProcAddress_v2("cuMemAlloc", &function, 12000, 0, &status));
  CHECK(function == (void *)cuMemAlloc_v2);
  CHECK_OK(cuGetProcAddress_v2("cuStreamSynchronize", &function, 12000, 2, &status));
  CHECK(function == (void *)cuStreamSynchronize_ptsz);
  CHECK_OK(cuGetProcAddress_v2("cuNoSuch", &function, 12000, 0, &status));
  CHECK(function == NULL && status == 1);
  CHECK_OK(cuGetProcAddress_v2("cuLibraryLoadData", &function, 11080, 0, &status));
  CHECK(function == NULL && status == 2);
  function = &status;
  CHECK_RESULT(500, cuGetProcAddress("cuNoSuch", &function, 12000, 0));
  CHECK_RESULT(500, cuGetProcAddress("cuLibraryLoadData", &function, 11080, 0));
  CHECK(function == &status);
  CHECK_OK(cuGetProcAddress("cuGetProcAddress", &function, 11030, 0));
  CHECK(function == (void *)cuGetProcAddress);
  CHECK_OK(cuGetProcAddress("cuGetProcAddress", &function, 13000, 0));
  CHECK(function == (void *)cuGetProcAddress_v2);
}

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

static void visibleDevices_none_isNoDevice(void) {
  peer_start(&peer);
  setenv("CUDA_VISIBLE_DEVICES", "-1", 1);
  CHECK_RESULT(100, cuInit(0));
  CHECK(peer.sessions == 0);
}

static void visibleDevices_unknown_isNoDevice(void) {
  peer_start(&peer);
  setenv("CUDA_VISIBLE_DEVICES", "1,0", 1);
  CHECK_RESULT(100, cuInit(0));
}

static void visibleDevices_namedByUuid_areSeen(void) {
  int count = 0;
  setenv("CUDA_VISIBLE_DEVICES", " GPU-5A5A,7", 1);
  begin();
  CHECK_OK(cuDeviceGetCount(&count));
  CHECK(count == 1);
}

static const char diagnosis[] = "gpupool: CUDA_ERROR_NOT_SUPPORTED: kernel f\n";

/** Refuses what was launched, with the diagnosis ahead of the result code, as the software GPU does. */
static bool refuse_launch(struct peer_session *session, const struct frame *frame) {
  enum { DIAGNOSTICS = 3 };
  if (frame->op != OP_ctxSynchronize) return false;
  peer_answer(session, ANSWER_OUTPUT, DIAGNOSTICS, sizeof diagnosis - 1, diagnosis, sizeof diagnosis - 1);
  peer_reply(session, frame, 801, NULL, 0);
  return true;
}

/** Checks what a refused launch puts on standard error where GPUPOOL_LOG has this value. */
static void check_diagnostics(const char *level, const char *expected) {
  char errors[1024] = "";
  FILE *file = tmpfile();
  setenv("GPUPOOL_LOG", level, 1);
  peer.handler = refuse_launch;
  begin();
  CHECK(dup2(fileno(file), STDERR_FILENO) == STDERR_FILENO);
  CHECK_RESULT(801, cuCtxSynchronize());
  rewind(file);
  size_t length = fread(errors, 1, sizeof errors - 1, file);
  CHECK(length == strlen(expected) && strcmp(errors, expected) == 0);
}

static void diagnostics_byDefault_areOnStandardError(void) { check_diagnostics("", diagnosis); }

static void diagnostics_atWarn_areOnStandardError(void) { check_diagnostics("warn", diagnosis); }

static void diagnostics_atError_areDropped(void) { check_diagnostics("error", ""); }

static void diagnostics_turnedOff_areDropped(void) { check_diagnostics("off", ""); }

/** Says on the agent's socket that the lease has ended, and ends the call stream without an answer. */
static bool end_lease(struct peer_session *session, const struct frame *frame) {
  static struct text_message message;
  if (frame->op != OP_ctxSynchronize) return false;
  text_begin(&message);
  text_add(&message, "type", "ended");
  text_add(&message, "message", "the lease has ended: its time is over");
  text_send(&message, session->agent);
  shutdown(session->stream, SHUT_RDWR);
  return true;
}

static void wait_whileTheLeaseEnds_failsWithTheAgentsReason(void) {
  char said[1024] = "";
  FILE *errors = tmpfile();
  peer.handler = end_lease;
  begin();
  CHECK(dup2(fileno(errors), STDERR_FILENO) == STDERR_FILENO);
  CHECK_RESULT(46, cuCtxSynchronize());
  rewind(errors);
  CHECK(fread(said, 1, sizeof said - 1, errors) > 0);
  CHECK(strstr(said, "the session is lost: the lease has ended: its time is over; CUDA calls now fail"));
}

int main(void) {
  CASE(visibleDevices_none_isNoDevice);
  CASE(visibleDevices_unknown_isNoDevice);
  CASE(visibleDevices_namedByUuid_areSeen);
  CASE(call_beforeInit_isNotInitialized);
  CASE(init_noAgent_isNotReady);
  CASE(init_silentAgent_isNotReady);
  CASE(init_silentWorker_isNotReady);
  CASE(init_refusedLease_isNoDevice);
  CASE(init_otherContract_isNotReady);
  CASE(memory_roundTrip_isKept);
  CASE(memory_relayed_isKept);
  CASE(pointerAttribute_boolean_fillsAnInt);
  CASE(pinned_asynchronousCopies_arriveByTheFence);
  CASE(rectangles_copied_byRows);
  CASE(boxes_longerThanFrames_arriveInPlace);
  CASE(kernel_ofModuleAndOfLibrary_launches);
  CASE(functions_notListedWithTheirModule_areCountedAndListed);
  CASE(launch_blocking_answersWhatTheKernelAnswers);
  CASE(launch_notBlocking_doesNotWait);
  CASE(attach_driversVariables_areToldByName);
  CASE(handles_staleOrWild_areRefused);
  CASE(error_fatal_sticksToTheContext);
  CASE(perThreadStream_isAnotherInEachThread);
  CASE(procAddress_givesNewestNotNewer);
  CASE(jitLogs_failedLoad_areFilled);
  CASE(image_unknown_isRefused);
  CASE(diagnostics_byDefault_areOnStandardError);
  CASE(diagnostics_atWarn_areOnStandardError);
  CASE(diagnostics_atError_areDropped);
  CASE(diagnostics_turnedOff_areDropped);
  CASE(wait_whileTheLeaseEnds_failsWithTheAgentsReason);
  return test_result();
}
