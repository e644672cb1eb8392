// SPDX-License-Identifier: Apache-2.0
/**
 * Connections to call-stream ports, encrypted or not, that are handed over once they are accepted.
 */
@NullMarked
package io.gpupool.transport.dial;

import org.jspecify.annotations.NullMarked;
