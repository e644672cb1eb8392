// SPDX-License-Identifier: Apache-2.0
/** The requests of programs, and the leases and connections to pools that they share. */
package io.gpupool.agent.lease;
