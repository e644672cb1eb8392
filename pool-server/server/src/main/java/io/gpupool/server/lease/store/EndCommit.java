// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.lease.store;

import io.gpupool.server.identity.Principal;
import io.gpupool.server.placement.Division;
import io.gpupool.server.placement.LeaseId;
import io.gpupool.server.records.GrantRecord;
import io.gpupool.server.records.RecordTypes;
import io.gpupool.server.records.ResourceUsage;
import io.gpupool.server.state.Transaction;
import io.gpupool.server.tenant.Audit;
import java.util.Optional;
import java.util.function.Predicate;

/** The part of a transaction that ends a lease. Owned by the control thread. */
record EndCommit(Transaction transaction, Audit audit) {
  /** Ends a lease and frees its parts on dead servers. Returns whether it had not ended before. */
  boolean end(
      LeaseId id, GrantRecord grant, Predicate<String> dead, Principal principal, String reason) {
    if (!grant.isEnding()) {
      audit.note(transaction, principal, "lease.end", id.text(), reason);
    }
    GrantRecord ended = grant.nowEnding(reason);
    free(id, ended, dead);
    GrantRecord left = ended.without(dead);
    if (left.parts().isEmpty()) {
      transaction.delete(RecordTypes.GRANTS, id.text());
      if (transaction.get(RecordTypes.HOLDS, id.text()).isPresent()) {
        transaction.delete(RecordTypes.HOLDS, id.text());
      }
      if (transaction.get(RecordTypes.MOVES, id.text()).filter(m -> !m.isUnderWay()).isPresent()) {
        transaction.delete(RecordTypes.MOVES, id.text());
      }
      if (transaction.get(RecordTypes.SUSPENSIONS, id.text()).isPresent()) {
        transaction.delete(RecordTypes.SUSPENSIONS, id.text());
      }
    } else if (!left.equals(grant)) {
      transaction.put(RecordTypes.GRANTS, id.text(), left);
    }
    return !grant.isEnding();
  }

  /** Frees what a lease has of one GPU. */
  void free(LeaseId id, String gpu) {
    transaction
        .get(RecordTypes.DIVISIONS, gpu)
        .map(division -> division.release(id))
        .ifPresent(after -> {
          if (after.equals(Division.UNDIVIDED)) {
            transaction.delete(RecordTypes.DIVISIONS, gpu);
          } else {
            transaction.put(RecordTypes.DIVISIONS, gpu, after);
          }
        });
  }

  private void free(LeaseId id, GrantRecord grant, Predicate<String> servers) {
    for (GrantRecord.PartRecord part : grant.parts()) {
      if (servers.test(part.gpu().server())) {
        free(id, part.gpu().text());
      }
    }
    ResourceUsage less = grant.use().minus(grant.without(servers).use());
    Optional<ResourceUsage> use = transaction.get(RecordTypes.USAGES, grant.tenant());
    if (use.isPresent() && !less.equals(ResourceUsage.NONE)) {
      ResourceUsage after = use.get().minus(less);
      if (after.leases() == 0) {
        transaction.delete(RecordTypes.USAGES, grant.tenant());
      } else {
        transaction.put(RecordTypes.USAGES, grant.tenant(), after);
      }
    }
  }
}
