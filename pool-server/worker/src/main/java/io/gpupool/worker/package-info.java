// SPDX-License-Identifier: Apache-2.0
/** The worker process: its options, its life under the pool-server, and its backend. */
@NullMarked
package io.gpupool.worker;

import org.jspecify.annotations.NullMarked;
