// SPDX-License-Identifier: Apache-2.0
#include "core/trace.h"

#include "core/errors.h"
#include "core/fork.h"
#include "core/lock.h"
#include "core/log.h"
#include "entries.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { RESULT_KINDS = 4, MAX_NOTES = 512, TEXT_BYTES = 96, PATH_BYTES = 4096 };

/** The results of the calls of one entry point. */
struct count {
  _Atomic uint64_t calls, trips, nanos, errors;
  struct {
    _Atomic uint32_t result;  // 0: not taken yet
    _Atomic uint32_t calls;
  } results[RESULT_KINDS];
};

struct note {
  const char *kind;
  char text[TEXT_BYTES];
  uint64_t times;
};

int watching;
__thread uint64_t roundTrips __attribute__((tls_model("initial-exec")));

static struct {
  char pattern[PATH_BYTES];
  uint64_t startNanos;
  _Atomic int written;
  struct count *counts;  // one an entry point
  struct lock lock;      // of the notes
  struct note *notes;
  uint32_t noteCount;
} trace;

/** Runs before the program's main: entry points are called before there is a session. */
__attribute__((constructor)) static void configure(void) {
  const char *path = getenv("GPUPOOL_TRACE");
  if (!path || !*path) return;
  if (strlen(path) >= sizeof trace.pattern) {
    log_line(LOG_WARN, "GPUPOOL_TRACE is too long: no trace is written");
    return;
  }
  strcpy(trace.pattern, path);
  trace.counts = calloc(ENTRY_COUNT, sizeof *trace.counts);
  trace.notes = calloc(MAX_NOTES, sizeof *trace.notes);
  trace.startNanos = now_nanos();
  if (trace.counts && trace.notes) watching |= WATCH_TRACE;
}

static void add(_Atomic uint64_t *counter, uint64_t amount) {
  atomic_fetch_add_explicit(counter, amount, memory_order_relaxed);
}

static void count_result(struct count *count, CUresult result) {
  for (int i = 0; i < RESULT_KINDS; i++) {
    uint32_t taken = 0;
    bool ours = atomic_compare_exchange_strong_explicit(&count->results[i].result, &taken, (uint32_t)result,
                                                        memory_order_relaxed, memory_order_relaxed);
    if (ours || taken == (uint32_t)result) {
      atomic_fetch_add_explicit(&count->results[i].calls, 1, memory_order_relaxed);
      return;
    }
  }
}

void trace_count(int entry, uint64_t nanos, uint64_t trips, CUresult result) {
  struct count *count = &trace.counts[entry];
  add(&count->calls, 1);
  add(&count->nanos, nanos);
  if (trips) add(&count->trips, trips);
  if (!result) return;
  add(&count->errors, 1);
  count_result(count, result);
}

void trace_note(const char *kind, const char *format, ...) {
  char text[TEXT_BYTES];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  lock_take(&trace.lock);
  uint32_t i = 0;
  while (i < trace.noteCount &&
         (trace.notes[i].kind != kind || strcmp(trace.notes[i].text, text) != 0)) {
    i++;
  }
  if (i < MAX_NOTES) {
    struct note *note = &trace.notes[i];
    if (i == trace.noteCount) {
      note->kind = kind;
      strcpy(note->text, text);
      trace.noteCount++;
    }
    note->times++;
  }
  lock_release(&trace.lock);
}

// The report

struct report {
  char *text;
  size_t length, capacity;
};

__attribute__((format(printf, 2, 3))) static void print(struct report *report, const char *format,
                                                        ...) {
  enum { LINE_BYTES = 1024 };
  if (report->capacity - report->length < LINE_BYTES) {
    size_t capacity = 2 * report->capacity + 4 * LINE_BYTES;
    char *text = realloc(report->text, capacity);
    if (!text) return;
    report->text = text;
    report->capacity = capacity;
  }
  va_list arguments;
  va_start(arguments, format);
  int length = vsnprintf(report->text + report->length, LINE_BYTES, format, arguments);
  va_end(arguments);
  if (length > 0) report->length += length < LINE_BYTES ? (size_t)length : LINE_BYTES - 1;
}

/** Counts of entry points, the most called first. */
static int by_calls(const void *left, const void *right) {
  uint64_t a = trace.counts[*(const int *)left].calls, b = trace.counts[*(const int *)right].calls;
  return a != b ? a < b ? 1 : -1 : *(const int *)left - *(const int *)right;
}

/** Calls that were answered CUDA_ERROR_NOT_SUPPORTED, whatever their class. */
static uint64_t refusals(const struct count *count) {
  for (int i = 0; i < RESULT_KINDS; i++) {
    if (count->results[i].result == CUDA_ERROR_NOT_SUPPORTED) return count->results[i].calls;
  }
  return 0;
}

static void print_classes(struct report *report, const int *order, int used) {
  print(report, "%-9s %12s %12s %12s %10s %10s\n", "class", "entry points", "calls", "round trips",
        "errors", "refused");
  for (int callClass = 0; callClass <= CLASS_COUNT; callClass++) {
    int points = 0;
    uint64_t refused = 0;
    struct count sum = {0};
    for (int i = 0; i < used; i++) {
      const struct count *count = &trace.counts[order[i]];
      if (callClass < CLASS_COUNT && entryTable[order[i]].callClass != callClass) continue;
      points++;
      sum.calls += count->calls;
      sum.trips += count->trips;
      sum.errors += count->errors;
      refused += refusals(count);
    }
    print(report, "%-9s %12d %12llu %12llu %10llu %10llu\n",
          callClass < CLASS_COUNT ? classNames[callClass] : "all", points,
          (unsigned long long)sum.calls, (unsigned long long)sum.trips,
          (unsigned long long)sum.errors, (unsigned long long)refused);
  }
}

static void print_calls(struct report *report, const int *order, int used) {
  print(report, "\n%12s %12s %12s %-9s entry point and errors\n", "calls", "round trips",
        "microseconds", "class");
  for (int i = 0; i < used; i++) {
    const struct count *count = &trace.counts[order[i]];
    const struct entry *entry = &entryTable[order[i]];
    print(report, "%12llu %12llu %12llu %-9s %s%s", (unsigned long long)count->calls,
          (unsigned long long)count->trips, (unsigned long long)count->nanos / 1000,
          classNames[entry->callClass], refusals(count) ? "REFUSED " : "", entry->symbol);
    for (int k = 0; k < RESULT_KINDS && count->results[k].result; k++) {
      print(report, "%s %s %u", k ? "," : ":", error_name((CUresult)count->results[k].result),
            count->results[k].calls);
    }
    print(report, "\n");
  }
}

static void print_notes(struct report *report) {
  lock_take(&trace.lock);
  if (trace.noteCount) print(report, "\n%12s what\n", "times");
  for (uint32_t i = 0; i < trace.noteCount; i++) {
    print(report, "%12llu %s: %s\n", (unsigned long long)trace.notes[i].times, trace.notes[i].kind,
          trace.notes[i].text);
  }
  lock_release(&trace.lock);
}

static void make_report(struct report *report) {
  static int order[ENTRY_COUNT];
  int used = 0;
  for (int i = 0; i < ENTRY_COUNT; i++) {
    if (trace.counts[i].calls) order[used++] = i;
  }
  qsort(order, (size_t)used, sizeof *order, by_calls);
  char program[PATH_BYTES] = "?";
  ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
  if (length > 0) program[length < 900 ? length : 900] = 0;
  print(report, "gpupool trace of process %d, %s, after %.3f s\n\n", (int)getpid(), program,
        (double)(now_nanos() - trace.startNanos) * 1e-9);
  print_classes(report, order, used);
  print_calls(report, order, used);
  print_notes(report);
  print(report, "\n");
}

/** The file's name, with the process id in place of each %p. False: it would be too long. */
static bool expand(char *path) {
  size_t length = 0;
  for (const char *at = trace.pattern; *at; at++) {
    if (length > PATH_BYTES - 16) return false;
    if (at[0] == '%' && at[1] == 'p') {
      length += (size_t)sprintf(path + length, "%d", (int)getpid());
      at++;
    } else {
      path[length++] = *at;
    }
  }
  path[length] = 0;
  return true;
}

void trace_write(void) {
  static char path[PATH_BYTES];
  if (!tracing() || atomic_exchange(&trace.written, 1)) return;
  struct report report = {0};
  make_report(&report);
  // Behind what other processes have written, whose reports would be lost otherwise.
  int file = expand(path) ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666) : -1;
  ssize_t written = file < 0 ? -1 : write(file, report.text, report.length);
  if (written < 0 || (size_t)written != report.length) {
    log_line(LOG_WARN, "the trace cannot be written to %s: %s", trace.pattern, strerror(errno));
  }
  if (file >= 0) close(file);
  free(report.text);
}

static void trace_reset(void) {
  trace.lock.word = 0;
  trace.noteCount = 0;
  trace.written = 0;
  if (!tracing()) return;
  memset(trace.counts, 0, ENTRY_COUNT * sizeof *trace.counts);
  memset(trace.notes, 0, MAX_NOTES * sizeof *trace.notes);
  trace.startNanos = now_nanos();
}

ON_FORK(trace_reset);
