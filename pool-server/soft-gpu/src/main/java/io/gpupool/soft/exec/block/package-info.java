// SPDX-License-Identifier: Apache-2.0
/** Thread blocks: their threads, warps, barriers and clusters. */
@NullMarked
package io.gpupool.soft.exec.block;

import org.jspecify.annotations.NullMarked;
