// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.takeover;

import io.gpupool.server.gpu.GpuKey;
import io.gpupool.server.identity.HolderName;
import io.gpupool.server.identity.Principal;
import io.gpupool.server.identity.SessionKeys;
import io.gpupool.server.lease.usage.LeaseUsage;
import io.gpupool.server.placement.LeaseId;
import java.util.List;

/**
 * A session that the server's next process can take over.
 *
 * @param client the process that opened it
 * @param principal the caller that opened it
 * @param usage of its lease, when this was written
 */
public record SessionRecord(
    SessionKeys keys,
    Place place,
    HolderName client,
    Principal principal,
    WorkerRecord worker,
    LeaseUsage usage,
    Past past) {
  /**
   * The place of a session.
   *
   * @param gpus of its lease, when this was written
   */
  public record Place(LeaseId lease, List<GpuKey> gpus, int slot) {
    public Place {
      gpus = List.copyOf(gpus);
    }
  }

  /**
   * The past of a session.
   *
   * @param openedAtMillis since 1970
   * @param grantedBefore what its lease had been granted of each GPU when it was opened
   */
  public record Past(long openedAtMillis, List<Long> grantedBefore) {
    public Past {
      grantedBefore = List.copyOf(grantedBefore);
    }
  }

  public LeaseId lease() {
    return place.lease();
  }

  public int slot() {
    return place.slot();
  }
}
