// SPDX-License-Identifier: Apache-2.0
/**
 * Sessions of programs on leases, the workers that serve them, and the port where programs connect.
 */
package io.gpupool.server.session;
