// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.records;

/**
 * The gang of a lease: leases of one tenant that are granted together or not at all.
 *
 * @param name unique in its tenant
 * @param size the number of its leases
 */
public record Gang(String name, int size) {
  /**
   * The writes of the one commit that grants a gang. etcd takes at most 128, and a commit has a few
   * of its own.
   */
  private static final int MAX_WRITES = 120;

  /** The writes of a lease: the lease, its holder, its request and its entry in the audit log. */
  private static final int WRITES = 4;

  /** Returns the largest gang of leases of so many GPUs. */
  static int maxSize(int gpus) {
    return Math.max(1, MAX_WRITES / (WRITES + gpus));
  }
}
