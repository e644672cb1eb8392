// SPDX-License-Identifier: Apache-2.0
// The frame of each op, against the golden ones of the contract. The worker's test decodes the same frames.
// With GOLDEN_WRITE=FILE it writes them down instead.
#include "harness.h"
#include "peer.h"
#include "module/launch.h"
#include "ops.h"
#include "shim.h"

#include "exports.h"

#define GOLDEN_TEXT "golden bytes of a buffer"
#define GOLDEN_FILE "../../protocol/contract/src/test/golden/frames.txt"

enum { OPS = 1 << 10, FIELDS = 32, HEX_BYTES = 2048 };

static struct peer peer;
static bool fenced[OPS];
static bool recording;
static char frames[OPS][HEX_BYTES];

static uint64_t goldenOutputs[FIELDS];
static struct variable goldenVariables[FIELDS];
static void *goldenPayload;

/** Writes a frame as hexadecimal, but for the op's number and the tag, which others choose. */
static void record(const struct frame *frame) {
  static const char digits[] = "0123456789abcdef";
  const uint8_t *bytes = (const uint8_t *)frame;
  char *to = frames[frame->op];
  CHECK(2 * frame->length < HEX_BYTES);
  for (uint32_t i = 0; i < frame->length; i++) {
    bool masked = (i >= 4 && i < 6) || (fenced[frame->op] && i >= 8 && i < 16);
    *to++ = masked ? '.' : digits[bytes[i] >> 4];
    *to++ = masked ? '.' : digits[bytes[i] & 15];
  }
  *to = '\0';
}

static bool take(struct peer_session *session, const struct frame *frame) {
  static const uint64_t zeros[FIELDS];
  if (!__atomic_load_n(&recording, __ATOMIC_ACQUIRE)) return false;
  if (!frames[frame->op][0]) record(frame);
  if (fenced[frame->op]) peer_reply(session, frame, 0, zeros, sizeof zeros);
  return true;
}

/** Launches a function of no module with one attribute and 12 bytes of parameters. */
static void encode_launch(CUcontext current) {
  static struct function_info info = {.parameterBytes = 12};
  struct launch_attribute attribute = {.id = LAUNCH_ATTRIBUTE_PRIORITY, .value = {0x2a}};
  struct launch launch = {.grid = {2, 3, 4},
                          .block = {5, 6, 7},
                          .sharedBytes = 0x100,
                          .attributes = &attribute,
                          .attributeCount = 1};
  struct function *function = arena_take(&functions);
  CHECK(function);
  function->context = (struct context *)(void *)current;
  function->info = &info;
  arena_publish(&functions, function);
  CHECK_OK(cuCtxSetCurrent(current));
  CHECK_OK(launch_kernel((CUfunction)(void *)function, &launch, NULL, GOLDEN_TEXT, info.parameterBytes));
}

static void encode_all(void) {
#define GOLDEN_RAW(name)
#define GOLDEN(isFenced, name, arguments) fenced[OP_##name] = isFenced;
#include "golden_calls.inc"
#undef GOLDEN
  for (int i = 0; i < FIELDS; i++) goldenVariables[i].capacity = 64 + (uint64_t)i;
  CUcontext context;
  peer.handler = take;
  peer_start(&peer);
  CHECK_OK(cuInit(0));
  CHECK_OK(cuDevicePrimaryCtxRetain(&context, 0));
  __atomic_store_n(&recording, true, __ATOMIC_RELEASE);
#define GOLDEN(isFenced, name, arguments) CHECK_OK(op_##name arguments);
#include "golden_calls.inc"
#undef GOLDEN
#undef GOLDEN_RAW
  encode_launch(context);
  CHECK_OK(op_ctxSynchronize(1));
}

static void write_down(const char *path) {
  FILE *file = fopen(path, "w");
  CHECK(file);
#define GOLDEN_RAW(name) fprintf(file, #name " %s\n", frames[OP_##name]);
#define GOLDEN(isFenced, name, arguments) GOLDEN_RAW(name)
#include "golden_calls.inc"
#undef GOLDEN
#undef GOLDEN_RAW
  fclose(file);
}

static void compare(FILE *file, const char *name, const char *frame) {
  static char line[HEX_BYTES + 128], expected[HEX_BYTES + 128];
  CHECK(fgets(line, sizeof line, file));
  snprintf(expected, sizeof expected, "%s %s\n", name, frame);
  if (strcmp(line, expected) != 0) {
    fprintf(stderr, "golden: %sencoded: %sFrames that changed on purpose: GOLDEN_WRITE=%s\n", line, expected,
            GOLDEN_FILE);
  }
  CHECK(!strcmp(line, expected));
}

static void frame_ofEachOp_isTheGoldenOne(void) {
  encode_all();
  if (getenv("GOLDEN_WRITE")) {
    write_down(getenv("GOLDEN_WRITE"));
    return;
  }
  FILE *file = fopen(GOLDEN_FILE, "r");
  CHECK(file);
#define GOLDEN_RAW(name) compare(file, #name, frames[OP_##name]);
#define GOLDEN(isFenced, name, arguments) GOLDEN_RAW(name)
#include "golden_calls.inc"
#undef GOLDEN
#undef GOLDEN_RAW
  char more[2];
  CHECK(!fgets(more, sizeof more, file));
  fclose(file);
}

int main(void) {
  CASE(frame_ofEachOp_isTheGoldenOne);
  return test_result();
}
