// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.autoscaling;

/**
 * The number of servers that a pool should have.
 *
 * @param changedAtMillis when it last changed, on the caller's clock
 */
record ScalingTarget(int servers, long changedAtMillis) {}
