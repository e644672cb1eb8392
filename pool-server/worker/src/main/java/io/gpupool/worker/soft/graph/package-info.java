// SPDX-License-Identifier: Apache-2.0
/** Driver calls about graphs. */
@NullMarked
package io.gpupool.worker.soft.graph;

import org.jspecify.annotations.NullMarked;
