// SPDX-License-Identifier: Apache-2.0
// How long a thread looks for an answer before it sleeps, and when it yields its processor.
#include "harness.h"
#include "transport/spin.h"

enum {
  LOOK = 1000,
  YIELDING_LOOKS = 20,
  KEEPING_LOOKS = 40,
  SLICE = 3000000,
  MOST_KEEPS = 250000000,
  SLEEPS = 10000000,
};

static struct spin spin;
static uint64_t now = 1000000000000;

/** Spins with pauses of that length until it ends or has looked `found` times; answers how many times it looked. */
static int spin_until(uint64_t pause, int found) {
  int looks = 0;
  for (spin_begin(&spin, now); spin_goes_on(&spin) && looks != found; spin_paused(&spin, now)) {
    now += pause;
    looks++;
  }
  spin_end(&spin, looks == found);
  return looks;
}

static int looks_in_vain(void) { return spin_until(LOOK, -1); }

static void find_answer(void) { CHECK(spin_until(LOOK, 3) == 3); }

static void lose_processor(void) {
  CHECK(spin_until(SLICE, -1) == 1);
  CHECK(spin.yields);
}

/** Has the processor lost so often that spins keep it for a quarter of a second. */
static void keep_processor_for_long(void) {
  for (int i = 0; i < 10; i++) {
    lose_processor();
    now += MOST_KEEPS;
  }
  lose_processor();
}

static void fail_until_sleep(int failures) {
  for (int i = 0; i < failures; i++) CHECK(looks_in_vain() == KEEPING_LOOKS);
  CHECK(looks_in_vain() == 0);
}

static void spin_lastsUntilItFindsAnAnswer_orUntilItsDeadline(void) {
  find_answer();
  CHECK(looks_in_vain() == YIELDING_LOOKS);
  CHECK(looks_in_vain() == YIELDING_LOOKS);
  CHECK(spin.yields);
}

static void pauseThatLostTheProcessor_endsYieldingForAWhile(void) {
  lose_processor();
  now += 4 * SLICE - 3 * LOOK - 1;
  find_answer();
  CHECK(!spin.yields);
  now += 1;
  CHECK(looks_in_vain() == YIELDING_LOOKS);
  CHECK(spin.yields);
}

static void processorThatIsLostAgainAndAgain_isYieldedLessAndLess(void) {
  for (int times = 4; times <= 64; times *= 2) {
    lose_processor();
    now += (uint64_t)times * SLICE - 3 * LOOK - 1;
    find_answer();
    CHECK(!spin.yields);
    now += 1;
  }
  lose_processor();
  now += MOST_KEEPS;
  find_answer();
  CHECK(spin.yields);
}

static void processorThatIsNotLostAnyMore_isSoonYieldedAsBefore(void) {
  keep_processor_for_long();
  now += MOST_KEEPS;
  for (int i = 0; i < 10; i++) CHECK(looks_in_vain() == YIELDING_LOOKS);
  lose_processor();
  now += 4 * SLICE;
  CHECK(looks_in_vain() == YIELDING_LOOKS);
}

static void keptProcessorInVain_endsInSleepForAWhile(void) {
  keep_processor_for_long();
  fail_until_sleep(4);
  for (int i = 0; i < 10; i++) {
    now += SLEEPS - 1;
    CHECK(looks_in_vain() == 0);
    now += 1;
    fail_until_sleep(1);
  }
}

static void answersAfterASleep_makeUpForFailures(void) {
  keep_processor_for_long();
  fail_until_sleep(4);
  now += SLEEPS;
  for (int i = 0; i < 3; i++) find_answer();
  fail_until_sleep(4);
}

static void spinsThatFindAnswersAsOftenAsNot_goOn(void) {
  keep_processor_for_long();
  for (int i = 0; i < 100; i++) {
    CHECK(looks_in_vain() == KEEPING_LOOKS);
    find_answer();
  }
}

int main(void) {
  CASE(spin_lastsUntilItFindsAnAnswer_orUntilItsDeadline);
  CASE(pauseThatLostTheProcessor_endsYieldingForAWhile);
  CASE(processorThatIsLostAgainAndAgain_isYieldedLessAndLess);
  CASE(processorThatIsNotLostAnyMore_isSoonYieldedAsBefore);
  CASE(keptProcessorInVain_endsInSleepForAWhile);
  CASE(answersAfterASleep_makeUpForFailures);
  CASE(spinsThatFindAnswersAsOftenAsNot_goOn);
  return test_result();
}
