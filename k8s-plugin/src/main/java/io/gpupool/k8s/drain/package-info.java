// SPDX-License-Identifier: Apache-2.0
/** Drains of the pool's servers whose nodes are about to go. */
@NullMarked
package io.gpupool.k8s.drain;

import org.jspecify.annotations.NullMarked;
