// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session.collective;

import io.gpupool.cuda.Backend;
import io.gpupool.cuda.BackendTraits.AddressRange;
import io.gpupool.worker.session.core.ContextState;
import io.gpupool.worker.session.quota.OwnedMemory;

/** Collectives that NVIDIA's NCCL carries out. */
final class NcclCollectives implements Collectives {
  private final Backend backend;
  private final OwnedMemory owned;
  private final RankDirectory directory;

  NcclCollectives(Backend backend, OwnedMemory owned, RankDirectory directory) {
    this.backend = backend;
    this.owned = owned;
    this.directory = directory;
  }

  @Override
  public Communicator make(ContextState context) {
    return new NcclCommunicator(context, backend, directory);
  }

  @Override
  public boolean isMemory(AddressRange range) {
    return owned.owns(range.address(), range.lengthBytes());
  }
}
