// SPDX-License-Identifier: Apache-2.0
/** The meters of a process, and the ways in which they leave it. */
@NullMarked
package io.gpupool.transport.metrics;

import org.jspecify.annotations.NullMarked;
