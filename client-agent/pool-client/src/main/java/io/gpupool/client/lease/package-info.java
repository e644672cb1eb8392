// SPDX-License-Identifier: Apache-2.0
/** Leases that a process asks for and holds. */
@NullMarked
package io.gpupool.client.lease;

import org.jspecify.annotations.NullMarked;
