// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.elasticity;

/**
 * How many servers there are to be.
 *
 * @param changedAtMillis since when it is so many, on the clock of who asked
 */
record Target(int servers, long changedAtMillis) {}
