// SPDX-License-Identifier: Apache-2.0
#include "module/cluster_questions.h"

#include "core/fork.h"
#include "core/lock.h"
#include "core/trace.h"
#include "module/known_occupancy.h"
#include "ops.h"

#include <string.h>

enum { MOST_AT_ONCE = 32, REMEMBERED = 2 * MOST_AT_ONCE };

struct question {
  const struct function *function;
  uint32_t changes;  // of what answers depend on
  struct cluster_request head;
  uint32_t cluster[3];
};

/** An answer that is the same each time. */
struct answer {
  struct question question;
  CUresult result;
  int32_t value;
};

static struct {
  struct lock lock;
  struct answer answers[REMEMBERED];
  uint32_t next;
  struct question latest;
} known;

static void reset(void) { memset(&known, 0, sizeof known); }
ON_FORK(reset);

static void forget(struct module *module) {
  lock_take(&known.lock);
  for (uint32_t i = 0; i < REMEMBERED; i++) {
    const struct function *function = known.answers[i].question.function;
    if (function && function->module == module) known.answers[i].question.function = NULL;
  }
  lock_release(&known.lock);
}
ON_MODULE_END(forget);

static bool is_same(const struct question *one, const struct question *other) {
  return memcmp(one, other, sizeof *one) == 0;
}

static struct question larger(const struct question *question, uint32_t by) {
  struct question result = *question;
  result.head.grid[0] += by;
  result.cluster[0] += by;
  return result;
}

/** Looks for the answer; next: whether the question follows the one before. */
static bool is_known(const struct question *question, struct answer *answer, bool *next) {
  bool found = false;
  lock_take(&known.lock);
  for (uint32_t i = 0; i < REMEMBERED && !found; i++) {
    found = is_same(&known.answers[i].question, question);
    if (found) *answer = known.answers[i];
  }
  struct question expected = larger(&known.latest, 1);
  *next = is_same(&expected, question);
  known.latest = *question;
  lock_release(&known.lock);
  return found;
}

static void remember(const struct answer *answer) {
  bool lasts = !answer->result || answer->result == CUDA_ERROR_INVALID_CLUSTER_SIZE ||
               answer->result == CUDA_ERROR_INVALID_VALUE;
  if (!lasts) return;
  lock_take(&known.lock);
  known.answers[known.next++ % REMEMBERED] = *answer;
  lock_release(&known.lock);
}

/** Sends a question, as op_functionClusters does, but waits for nothing; false: the session is lost. */
static bool send(const struct context *context, const struct question *question, struct call *call, uint64_t *reply,
                 bool last) {
  enum { SLOTS = 6, BYTES = sizeof question->head + sizeof(struct launch_attribute) };
  struct connection *connection = connection_of(context->number);
  struct launch_attribute attribute = {.id = LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION};
  memcpy(attribute.value, question->cluster, sizeof question->cluster);
  *call = (struct call){.reply = reply, .replyCapacity = sizeof *reply};
  call_open(connection, call);
  uint64_t *slot = ring_begin(connection, SLOTS * 8 + BYTES);
  if (!slot) {
    call_cancel(call);
    return false;
  }
  slot[0] = FRAME(SLOTS * 8 + BYTES, OP_functionClusters, context->number);
  slot[1] = call->tag;
  slot[2] = question->function->slot.number;
  slot[3] = true;
  slot[4] = BYTES;
  slot[5] = true;
  memcpy(slot + SLOTS, &question->head, sizeof question->head);
  memcpy((uint8_t *)(slot + SLOTS) + sizeof question->head, &attribute, sizeof attribute);
  if (last) {
    ring_post_now(connection);
  } else {
    ring_post(connection);
  }
  return true;
}

/** Asks for this size and those that follow, and remembers the answers; returns the first one. */
static struct answer ask(struct context *context, const struct question *question, uint32_t count) {
  struct call calls[MOST_AT_ONCE];
  uint64_t replies[MOST_AT_ONCE], trips = roundTrips;
  struct answer first = {.result = CUDA_ERROR_DEVICE_UNAVAILABLE};
  uint32_t sent = 0;
  for (bool alive = true; sent < count && alive; sent += alive) {
    struct question next = larger(question, sent);
    alive = send(context, &next, &calls[sent], &replies[sent], sent == count - 1);
  }
  if (!sent) first.result = session_answer();
  for (uint32_t i = 0; i < sent; i++) {
    call_await(&calls[i]);
    struct answer answer = {.question = larger(question, i), .result = calls[i].result};
    uint32_t used = 0;
    if (!answer.result) answer.value = (int32_t)reply_slot(&calls[i], &replies[i], &used);
    if (calls[i].shortReply) answer.result = session_malformed("a short answer");
    answer.result = context_result(context, answer.result);
    remember(&answer);
    if (i == 0) first = answer;
  }
  roundTrips = trips + 1;
  return first;
}

bool cluster_question(struct context *context, struct function *function, const CUlaunchConfig *config,
                      CUresult *result, int32_t *answer) {
  if (config->numAttrs != 1 || config->attrs->id != LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) return false;
  struct question question;
  memset(&question, 0, sizeof question);
  question.function = function;
  question.changes = known_occupancy_changes(function);
  question.head = (struct cluster_request){
      .grid = {config->gridDimX, config->gridDimY, config->gridDimZ},
      .block = {config->blockDimX, config->blockDimY, config->blockDimZ},
      .sharedBytes = config->sharedMemBytes,
      .attributeCount = 1,
  };
  memcpy(question.cluster, config->attrs->value, sizeof question.cluster);
  struct answer found = {.value = 0};
  bool next;
  if (!is_known(&question, &found, &next)) found = ask(context, &question, next ? MOST_AT_ONCE : 1);
  *result = found.result;
  *answer = found.value;
  return true;
}
