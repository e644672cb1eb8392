// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.state;

/**
 * That a key was last written at this revision.
 *
 * @param revision 0: there is no such key
 */
public record Condition(String key, long revision) {}
