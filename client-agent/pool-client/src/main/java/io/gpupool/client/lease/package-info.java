// SPDX-License-Identifier: Apache-2.0
/** Leases that a process asks for and holds. */
package io.gpupool.client.lease;
