// SPDX-License-Identifier: Apache-2.0
/** What the time and memory of this server's GPUs went to in the last hour and day. */
@NullMarked
package io.gpupool.server.history;

import org.jspecify.annotations.NullMarked;
