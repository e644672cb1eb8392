// SPDX-License-Identifier: Apache-2.0
/** The queue of lease requests and its scheduler. */
@NullMarked
package io.gpupool.server.lease.queue;

import org.jspecify.annotations.NullMarked;
