// SPDX-License-Identifier: Apache-2.0
/** Worker processes: their start, the socket on which they report, and the pool of spare ones. */
@NullMarked
package io.gpupool.server.worker;

import org.jspecify.annotations.NullMarked;
