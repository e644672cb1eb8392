// SPDX-License-Identifier: Apache-2.0
/**
 * How the leases of a GPU share its time: the policy, the memory they share, the taking time
 * slices.
 */
@NullMarked
package io.gpupool.worker.slicer;

import org.jspecify.annotations.NullMarked;
