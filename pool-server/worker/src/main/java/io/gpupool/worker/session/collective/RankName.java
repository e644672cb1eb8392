// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session.collective;

/**
 * The name of a rank.
 *
 * @param communicator digest of the communicator's unique id, and of its splits: 64 hexadecimal
 *     digits
 */
public record RankName(String communicator, int rank) {}
