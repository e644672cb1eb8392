// SPDX-License-Identifier: Apache-2.0
/** A client of pools: channels, TLS and tokens, and leases that a process holds. */
@NullMarked
package io.gpupool.client;

import org.jspecify.annotations.NullMarked;
