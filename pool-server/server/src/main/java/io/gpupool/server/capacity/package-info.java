// SPDX-License-Identifier: Apache-2.0
/** The pool's servers, their GPUs and partitions, and what is left of them. */
@NullMarked
package io.gpupool.server.capacity;

import org.jspecify.annotations.NullMarked;
