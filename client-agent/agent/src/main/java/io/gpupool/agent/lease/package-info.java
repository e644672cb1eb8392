// SPDX-License-Identifier: Apache-2.0
/** The requests of programs, and the leases and connections to pools that they share. */
@NullMarked
package io.gpupool.agent.lease;

import org.jspecify.annotations.NullMarked;
