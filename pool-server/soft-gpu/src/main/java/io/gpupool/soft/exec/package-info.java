// SPDX-License-Identifier: Apache-2.0
/** Execution of grids: worker threads, thread blocks, warps, barriers and checked accesses. */
@NullMarked
package io.gpupool.soft.exec;

import org.jspecify.annotations.NullMarked;
