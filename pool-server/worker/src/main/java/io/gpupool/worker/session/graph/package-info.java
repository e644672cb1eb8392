// SPDX-License-Identifier: Apache-2.0
/** Kernel launches and graphs. */
@NullMarked
package io.gpupool.worker.session.graph;

import org.jspecify.annotations.NullMarked;
