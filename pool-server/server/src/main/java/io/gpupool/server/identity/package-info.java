// SPDX-License-Identifier: Apache-2.0
/** Principals with their roles, tokens, holders of leases, and secrets of leases. */
package io.gpupool.server.identity;
