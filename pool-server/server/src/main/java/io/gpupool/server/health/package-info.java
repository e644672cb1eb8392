// SPDX-License-Identifier: Apache-2.0
/**
 * Whether the GPUs of this server can be relied on: faults that the driver tells of, and recovery.
 */
@NullMarked
package io.gpupool.server.health;

import org.jspecify.annotations.NullMarked;
