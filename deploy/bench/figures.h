// SPDX-License-Identifier: Apache-2.0
// Figures of the benchmarks here: times, their order, and the output: a line for each figure, or one JSON object.
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static int figures_as_json;
static int figures_told;

static inline double now_seconds(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static inline int ascending(const void *one, const void *another) {
  double a = *(const double *)one, b = *(const double *)another;
  return (a > b) - (a < b);
}

static inline void sort(double *values, size_t count) { qsort(values, count, sizeof *values, ascending); }

static inline double median(double *values, size_t count) {
  sort(values, count);
  return values[count / 2];
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
