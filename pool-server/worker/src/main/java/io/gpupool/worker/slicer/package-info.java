// SPDX-License-Identifier: Apache-2.0
/** Time slices of a GPU: the policy, the schedule in shared memory, and the protocol on it. */
@NullMarked
package io.gpupool.worker.slicer;

import org.jspecify.annotations.NullMarked;
