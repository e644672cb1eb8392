// SPDX-License-Identifier: Apache-2.0
// The report that GPUPOOL_TRACE asks for: how often each entry point was called, and how it was answered.
// Any thread counts; the thread that ends the process, or finds the session lost, writes.
#pragma once

#include "core/driver.h"

#include <stdbool.h>

enum watch { WATCH_LOG = 1, WATCH_TRACE = 2 };

/** Things done with each call beside making it: of enum watch. */
extern int watching;

/** The number of times that this thread has waited for the worker. */
extern __thread uint64_t roundTrips __attribute__((tls_model("initial-exec")));

static inline bool tracing(void) { return UNLIKELY(watching & WATCH_TRACE); }

/** Counts one call of an entry point; `entry` is of enum entry_number. */
void trace_count(int entry, uint64_t nanos, uint64_t trips, CUresult result);

/** Counts one time of something that has no number, such as an export table by its name. */
void trace_note(const char *kind, const char *format, ...) __attribute__((format(printf, 2, 3)));

/** Writes the report, once. */
void trace_write(void);
