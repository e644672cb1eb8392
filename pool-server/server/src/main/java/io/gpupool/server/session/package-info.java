// SPDX-License-Identifier: Apache-2.0
/** Sessions of programs on leases. */
package io.gpupool.server.session;
