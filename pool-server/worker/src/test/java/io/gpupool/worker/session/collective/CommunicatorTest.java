// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session.collective;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.gpupool.soft.device.SoftGpu.MissingPtx;
import io.gpupool.soft.device.spec.DeviceSpec;
import io.gpupool.worker.session.core.ContextState;
import io.gpupool.worker.session.stream.StreamBarriers;
import io.gpupool.worker.soft.SoftBackend;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class CommunicatorTest {
  private static final long BEGIN_MILLIS = 2000;
  private static final RankName NAME = new RankName("id", 1);

  /** A directory in which other ranks never come. */
  private static final class LonelyDirectory implements RankDirectory {
    private final List<String> said = Collections.synchronizedList(new ArrayList<>());

    @Override
    public void join(RankName name, int ranks, byte @Nullable [] uniqueId, Listener listener) {
      said.add("join " + name.rank());
    }

    @Override
    public void leave(RankName name, boolean lost) {
      said.add("leave " + name.rank() + (lost ? " lost" : ""));
    }

    @Override
    public void connect(RankName name, int to) {
      said.add("connect " + to);
    }
  }

  /** A GPU that no call reaches. */
  private static final class NoGpu implements SoftCommunicator.Gpu {
    @Override
    public int close(long stream, StreamBarriers.Arrival arrival) {
      return 0;
    }

    @Override
    public void compute(int device, Runnable work) {
      work.run();
    }
  }

  @Test
  void rank_whoseOthersNeverCome_failsAfterTheLimitAndLeaves() {
    LonelyDirectory directory = new LonelyDirectory();
    try (SoftBackend backend = new SoftBackend(new DeviceSpec(1, 1L << 30, 90), MissingPtx.SKIP)) {
      ContextState context = new ContextState(backend, 1, 0, 0, 0, false);
      SoftCommunicator communicator =
          new SoftCommunicator(
              context, new LocalCommunicators(), directory, new NoGpu(), BEGIN_MILLIS);
      communicator.join(NAME, 2);
      assertThat(communicator.state().result()).isEqualTo(NcclResult.IN_PROGRESS);
      await().until(() -> communicator.state().result() == NcclResult.SYSTEM_ERROR);
      assertThat(communicator.error()).contains("not all ranks came within 2 s");
      await()
          .untilAsserted(
              () -> assertThat(directory.said).containsExactly("join 1", "leave 1 lost"));
    }
  }
}
