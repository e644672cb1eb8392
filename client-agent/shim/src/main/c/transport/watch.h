// SPDX-License-Identifier: Apache-2.0
// The watcher: a thread that looks about once a second whether the streams of a session that can be resumed are dead, and
// whether its agent has gone. A program that computes by itself for long would notice only after the session is gone.
#pragma once

/** Starts it if there is something to watch. */
void watch_begin(void);
