// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.state;

/**
 * A condition that a key was last written at this revision.
 *
 * @param revision 0: the key does not exist
 */
public record Condition(String key, long revision) {}
