// SPDX-License-Identifier: Apache-2.0
/** When leases end although their holders live. */
package io.gpupool.server.limits;
