// SPDX-License-Identifier: Apache-2.0
/** Principals with their roles, tokens, holders of leases, and secrets of leases. */
@NullMarked
package io.gpupool.server.identity;

import org.jspecify.annotations.NullMarked;
