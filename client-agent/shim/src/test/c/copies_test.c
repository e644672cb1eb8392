// SPDX-License-Identifier: Apache-2.0
// Memory and copies of it, through the exported entry points.
#include "harness.h"
#include "peer_context.h"
#include "shim.h"

#include "exports.h"

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

static _Atomic int synchronizations;

static bool count_synchronizations(struct peer_session *session, const struct frame *frame) {
  (void)session;
  synchronizations += frame->op == OP_streamSynchronize;
  return false;
}

static int synchronizations_of(CUstream stream) {
  int before = synchronizations;
  CHECK_OK(cuStreamSynchronize(stream));
  return synchronizations - before;
}

static void stream_awaitedByACopy_isNotAskedForAgain(void) {
  peer.handler = count_synchronizations;
  begin();
  CUdeviceptr device;
  CUstream stream, other;
  uint32_t value;
  CHECK_OK(cuStreamCreate(&stream, 1));
  CHECK_OK(cuStreamCreate(&other, 1));
  CHECK_OK(cuMemAlloc_v2(&device, 4));
  CHECK(synchronizations_of(stream) == 1);
  CHECK(synchronizations_of(stream) == 0);
  CHECK(synchronizations_of(other) == 1);
  CHECK_OK(cuMemcpyDtoHAsync_v2(&value, device, 4, stream));
  CHECK(synchronizations_of(stream) == 0);
  CHECK(synchronizations_of(other) == 1);
  CHECK_OK(cuMemcpyDtoHAsync_v2(&value, device, 4, stream));
  CHECK_OK(cuMemsetD8Async(device, 1, 4, stream));
  CHECK(synchronizations_of(stream) == 1);
}

struct filling {
  CUcontext context;
  CUdeviceptr device;
};

static void *fill(void *argument) {
  const struct filling *filling = argument;
  CHECK_OK(cuCtxSetCurrent(filling->context));
  CHECK_OK(cuMemsetD8Async(filling->device, 1, 4, NULL));
  return NULL;
}

static void stream_intoWhichAnotherThreadSends_isAskedForAgain(void) {
  peer.handler = count_synchronizations;
  begin();
  struct filling filling;
  uint32_t value;
  pthread_t thread;
  CHECK_OK(cuCtxGetCurrent(&filling.context));
  CHECK_OK(cuMemAlloc_v2(&filling.device, 4));
  CHECK_OK(cuMemcpyDtoH_v2(&value, filling.device, 4));
  CHECK(synchronizations_of(NULL) == 0);
  pthread_create(&thread, NULL, fill, &filling);
  pthread_join(thread, NULL);
  CHECK(synchronizations_of(NULL) == 1);
}

int main(void) {
  CASE(stream_awaitedByACopy_isNotAskedForAgain);
  CASE(stream_intoWhichAnotherThreadSends_isAskedForAgain);
  CASE(memory_roundTrip_isKept);
  CASE(memory_relayed_isKept);
  CASE(pointerAttribute_boolean_fillsAnInt);
  CASE(pinned_asynchronousCopies_arriveByTheFence);
  CASE(rectangles_copied_byRows);
  CASE(boxes_longerThanFrames_arriveInPlace);
  return test_result();
}
