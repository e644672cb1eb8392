// SPDX-License-Identifier: Apache-2.0
/**
 * Connections to call-stream ports, encrypted or not, that are handed over once they are accepted.
 */
package io.gpupool.transport.dial;
