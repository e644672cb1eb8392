// SPDX-License-Identifier: Apache-2.0
/** Device memory: allocations, pools, virtual memory and shared memory. */
@NullMarked
package io.gpupool.worker.session.memory;

import org.jspecify.annotations.NullMarked;
