// SPDX-License-Identifier: Apache-2.0
/** Who somebody is: actors with their roles, tokens, holders of leases, secrets. */
package io.gpupool.server.identity;
