// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session.collective;

import io.gpupool.cuda.Backend;
import io.gpupool.cuda.BackendTraits.AddressRange;
import io.gpupool.worker.session.core.ContextState;
import io.gpupool.worker.session.stream.StreamBarriers;

/** Collectives that the workers carry out themselves, where GPUs have memory of the process. */
final class SoftCollectives implements Collectives, SoftCommunicator.Gpu {
  private final Backend backend;
  private final StreamBarriers barriers;
  private final RankDirectory directory;
  private final LocalCommunicators locals = new LocalCommunicators();

  SoftCollectives(Backend backend, StreamBarriers barriers, RankDirectory directory) {
    this.backend = backend;
    this.barriers = barriers;
    this.directory = directory;
  }

  @Override
  public Communicator make(ContextState context) {
    return new SoftCommunicator(context, locals, directory, this, BEGIN_MILLIS);
  }

  @Override
  public int close(long stream, StreamBarriers.Arrival arrival) {
    return barriers.close(stream, arrival);
  }

  @Override
  public void compute(int device, Runnable work) {
    backend.compute(device, work);
  }

  /** The memory stays mapped even if the program frees it too early. */
  @Override
  public boolean isMemory(AddressRange range) {
    return range.lengthBytes() == 0 || backend.isReadable(range.address(), range.lengthBytes());
  }
}
