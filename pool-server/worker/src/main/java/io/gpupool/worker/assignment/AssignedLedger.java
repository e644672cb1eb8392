// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.assignment;

import io.gpupool.worker.os.ServerFile;
import io.gpupool.worker.session.quota.Ledger;
import java.io.IOException;

/**
 * A session's place in the ledger of its lease.
 *
 * @param file the ledger, which the pool-server made
 * @param slot the session's slot in it
 */
public record AssignedLedger(ServerFile file, int slot) {
  Ledger open(long[] quotas) throws IOException {
    return Ledger.open(file, slot, quotas);
  }
}
