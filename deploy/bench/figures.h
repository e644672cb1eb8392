// SPDX-License-Identifier: Apache-2.0
// The output of the benchmarks here: a line for each figure, or one JSON object.
#pragma once

#include <stdio.h>
#include <time.h>

static int figures_as_json;
static int figures_told;

static inline double now_seconds(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static inline void figure(const char *name, double value, const char *unit) {
  if (figures_as_json) {
    printf("%s\n  \"%s_%s\": %.4g", figures_told == 0 ? "{" : ",", name, unit, value);
  } else {
    printf("%-24s %12.4g %s\n", name, value, unit);
  }
  fflush(stdout);
  figures_told++;
}

static inline void figures_end(void) {
  if (figures_as_json) {
    printf("\n}\n");
  }
}
