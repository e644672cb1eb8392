// SPDX-License-Identifier: Apache-2.0
/** Grids on worker threads: how their blocks are shared out, and how they end. */
@NullMarked
package io.gpupool.soft.exec;

import org.jspecify.annotations.NullMarked;
