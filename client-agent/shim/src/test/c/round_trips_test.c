// SPDX-License-Identifier: Apache-2.0
// Round trips that programs do without.
#include "harness.h"
#include "peer_context.h"
#include "shim.h"

#include "exports.h"

enum { IMAGE_BYTES = 40000, SIZES_AT_ONCE = 32, LARGEST_CLUSTER = 16 };

/** A question that is answered later: header and tag. */
struct held {
  uint64_t words[2];
};

static void hold(struct held *held, const struct frame *frame) { memcpy(held->words, frame, sizeof held->words); }

static const struct frame *frame_of(const struct held *held) { return (const struct frame *)held->words; }

/** An image that is worth a question. */
static const char *long_image(void) {
  static char image[IMAGE_BYTES];
  memset(image, '\n', sizeof image - 1);
  memcpy(image, ".version 8.0\n.target sm_80", 26);
  return image;
}

static struct held find;

/** Answers whether an image is there once the call that needs it has come. */
static bool answer_find_with_load(struct peer_session *session, const struct frame *frame) {
  uint64_t found = 1;
  if (frame->op == OP_imageFind) {
    hold(&find, frame);
    return true;
  }
  if (frame->op == OP_moduleLoad) peer_reply(session, frame_of(&find), 0, &found, sizeof found);
  return false;
}

static void image_thatTheServerKeeps_isLoadedInOneRoundTrip(void) {
  peer.handler = answer_find_with_load;
  begin();
  CUmodule module;
  CUlibrary library;
  CUfunction function;
  CHECK_OK(cuModuleLoadData(&module, long_image()));
  CHECK_OK(cuModuleGetFunction(&function, module, "store"));
  CHECK_OK(cuLibraryLoadData(&library, long_image(), NULL, NULL, 0, NULL, NULL, 0));
  CHECK_OK(cuLibraryUnload(library));
}

static _Atomic uint64_t imageBytes, loads;

/** Keeps no image from earlier, and loads only those that have come. */
static bool keep_nothing(struct peer_session *session, const struct frame *frame) {
  uint64_t found = 0;
  if (frame->op == OP_imageFind) {
    imageBytes = 0;
    peer_reply(session, frame, 0, &found, sizeof found);
    return true;
  }
  if (frame->op == OP_imageData) imageBytes += frame->slot[1];
  if (frame->op != OP_moduleLoad) return false;
  loads++;
  if (imageBytes == IMAGE_BYTES) return false;
  peer_reply(session, frame, 200, NULL, 0);
  return true;
}

static void image_thatTheServerLacks_isSentAndLoaded(void) {
  peer.handler = keep_nothing;
  begin();
  CUmodule module;
  CUlibrary library;
  CUfunction function;
  CHECK_OK(cuModuleLoadData(&module, long_image()));
  CHECK(loads == 2 && imageBytes == IMAGE_BYTES);
  CHECK_OK(cuModuleGetFunction(&function, module, "store"));
  CHECK_OK(cuLibraryLoadData(&library, long_image(), NULL, NULL, 0, NULL, NULL, 0));
  CHECK(loads == 4 && imageBytes == IMAGE_BYTES);
}

static struct held questions[SIZES_AT_ONCE];
static _Atomic uint32_t asked;

/** Answers 100 divided by the size of clusters; from the second question on, once so many have come. */
static bool answer_clusters(struct peer_session *session, const struct frame *frame) {
  static uint32_t sizes[SIZES_AT_ONCE];
  static uint32_t count;
  if (frame->op != OP_functionClusters) return false;
  const uint32_t *config = (const uint32_t *)(frame->slot + 5);
  CHECK(config[0] == config[10]);  // the grid, and the size in the attribute
  hold(&questions[count], frame);
  sizes[count++] = config[10];
  if (asked++ && count < SIZES_AT_ONCE) return true;
  for (uint32_t i = 0; i < count; i++) {
    uint64_t value = 100 / sizes[i];
    bool possible = sizes[i] <= LARGEST_CLUSTER;
    peer_reply(session, frame_of(&questions[i]), possible ? 0 : 912, &value, possible ? sizeof value : 0);
  }
  count = 0;
  return true;
}

static void check_clusters(CUfunction function, uint32_t size) {
  struct launch_attribute attribute;
  memset(&attribute, 0xee, sizeof attribute);  // what the program leaves as it is
  uint32_t cluster[] = {size, 1, 1};
  attribute.id = LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
  memcpy(attribute.value, cluster, sizeof cluster);
  CUlaunchConfig config = {.gridDimX = size, .gridDimY = 1, .gridDimZ = 1, .blockDimX = 128, .blockDimY = 1,
                           .blockDimZ = 1, .attrs = &attribute, .numAttrs = 1};
  int clusters = -1;
  CHECK_RESULT(size <= LARGEST_CLUSTER ? 0 : 912, cuOccupancyMaxActiveClusters(&clusters, function, &config));
  CHECK(clusters == (size <= LARGEST_CLUSTER ? (int)(100 / size) : -1));
}

static void clusters_ofOneSizeAfterTheOther_areAskedForTogether(void) {
  peer.handler = answer_clusters;
  begin();
  CUmodule module;
  CUfunction function;
  CHECK_OK(cuModuleLoadData(&module, ".version 8.0\n.target sm_90\n"));
  CHECK_OK(cuModuleGetFunction(&function, module, "empty"));
  for (uint32_t size = 3; size <= 32; size++) check_clusters(function, size);
  CHECK(asked == 1 + SIZES_AT_ONCE);
  check_clusters(function, 7);
  CHECK(asked == 1 + SIZES_AT_ONCE);
}

static bool count_clusters(struct peer_session *session, const struct frame *frame) {
  if (frame->op != OP_functionClusters) return false;
  uint64_t value = 100 / (uint32_t)frame->slot[10];
  asked++;
  peer_reply(session, frame, 0, &value, sizeof value);
  return true;
}

static void clusters_ofAFunctionThatChanged_areAskedForAgain(void) {
  peer.handler = count_clusters;
  begin();
  CUmodule module;
  CUfunction function;
  CHECK_OK(cuModuleLoadData(&module, ".version 8.0\n.target sm_90\n"));
  CHECK_OK(cuModuleGetFunction(&function, module, "empty"));
  check_clusters(function, 2);
  check_clusters(function, 2);
  CHECK(asked == 1);
  CHECK_OK(cuFuncSetAttribute(function, 9, 50));
  check_clusters(function, 2);
  CHECK(asked == 2);
  CHECK_OK(cuModuleUnload(module));
  CHECK_OK(cuModuleLoadData(&module, ".version 8.0\n.target sm_90\n"));
  CHECK_OK(cuModuleGetFunction(&function, module, "empty"));
  check_clusters(function, 2);
  CHECK(asked == 3);
}

static bool lack_limit(struct peer_session *session, const struct frame *frame) {
  if (frame->op != OP_ctxGetLimit) return false;
  asked++;
  peer_reply(session, frame, 1, NULL, 0);
  return true;
}

static void limit_thatIsNone_isAskedForOnce(void) {
  peer.handler = lack_limit;
  begin();
  size_t value;
  for (int i = 0; i < 5; i++) CHECK_RESULT(1, cuCtxGetLimit(&value, 6));
  CHECK(asked == 1);
}

static bool count_queries(struct peer_session *session, const struct frame *frame) {
  if (frame->op != OP_eventQuery) return false;
  // Every third question finds it complete.
  peer_reply(session, frame, ++asked % 3 ? 600 : 0, NULL, 0);
  return true;
}

static void event_thatIsComplete_isAskedForAgainOnlyOnceRecorded(void) {
  peer.handler = count_queries;
  begin();
  CUevent event;
  CHECK_OK(cuEventCreate(&event, 0));
  for (uint32_t round = 1; round <= 3; round++) {
    CHECK_OK(cuEventRecord(event, NULL));
    CHECK_RESULT(600, cuEventQuery(event));
    CHECK_RESULT(600, cuEventQuery(event));
    for (int i = 0; i < 100; i++) CHECK_OK(cuEventQuery(event));
    CHECK_OK(cuEventSynchronize(event));
    CHECK(asked == 3 * round);
  }
}

int main(void) {
  CASE(image_thatTheServerKeeps_isLoadedInOneRoundTrip);
  CASE(image_thatTheServerLacks_isSentAndLoaded);
  CASE(clusters_ofOneSizeAfterTheOther_areAskedForTogether);
  CASE(clusters_ofAFunctionThatChanged_areAskedForAgain);
  CASE(limit_thatIsNone_isAskedForOnce);
  CASE(event_thatIsComplete_isAskedForAgainOnlyOnceRecorded);
  return test_result();
}
