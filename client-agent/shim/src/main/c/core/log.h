// SPDX-License-Identifier: Apache-2.0
// Lines on stderr, as much as GPUPOOL_LOG asks for (off, error, warn, info, debug; warn unless set).
#pragma once

#include "core/driver.h"

enum log_level { LOG_OFF = -1, LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG };

extern int logLevel;

/** Reads GPUPOOL_LOG, once. */
void log_configure(void);

/** Writes one line "gpupool: ..." to stderr, in a single write. */
void log_line(enum log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

uint64_t now_nanos(void);
