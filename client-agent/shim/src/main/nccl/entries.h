// SPDX-License-Identifier: Apache-2.0
// The exported functions, and where each leads.
#pragma once

enum {
#define IMPLEMENTED(name, note) +1
#define REFUSED(name, reason) +1
  ENTRIES = 0
#include "functions.inc"
#undef IMPLEMENTED
#undef REFUSED
};

struct entry {
  const char *name;
  void **slot;  // where it leads: it changes once, under running programs
  void *own;    // gpupool's own function
};

extern const struct entry entries[ENTRIES];

/**
 * Answers the first calls: makes the choice, unless the function is one that needs none.
 *
 * @param slot that of the function
 * @param caller the address to which the function returns
 * @return where the function is
 */
void *choice_first(void **slot, const void *caller);
