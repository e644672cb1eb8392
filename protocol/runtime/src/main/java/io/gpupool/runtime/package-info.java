// SPDX-License-Identifier: Apache-2.0
/** The kit of every long-lived process: an event loop with a clock, back-off, logs. */
@NullMarked
package io.gpupool.runtime;

import org.jspecify.annotations.NullMarked;
