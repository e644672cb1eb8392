// SPDX-License-Identifier: Apache-2.0
/**
 * Where a lease goes: what is asked for, what GPUs have left, and the decision. Pure functions of
 * values.
 */
@NullMarked
package io.gpupool.server.placement;

import org.jspecify.annotations.NullMarked;
