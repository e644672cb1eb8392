// SPDX-License-Identifier: Apache-2.0
/** The one thread that owns the state of a server, and its timers. */
@NullMarked
package io.gpupool.server.control;

import org.jspecify.annotations.NullMarked;
