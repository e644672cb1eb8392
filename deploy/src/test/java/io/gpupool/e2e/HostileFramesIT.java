// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.SocketChannel;
import java.nio.file.Path;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * The calls of a real program, replayed out of order and with wrong numbers in them, in sessions
 * through the agent's socket and port 7641, while a tenant works.
 */
class HostileFramesIT {
  private static final int FRAMES = 1_000_000;
  private static final int MOST_SESSIONS = 150;
  private static final int FRAMES_A_SESSION = 50_000;
  private static final long SEED = 0xf00d;
  private static final long FREE_BESIDE_TENANT_BYTES = 768L << 20;
  private static final long MOST_RESIDENT_BYTES = 768L << 20;
  private static final int HEADER_BYTES = 8;
  private static final long[] NASTY = {
    0, 1, 7, 16, 17, 255, 4096, 1 << 20, Integer.MAX_VALUE, 1L << 32, 1L << 47, Long.MAX_VALUE, -1
  };

  private static Pool pool;

  @BeforeAll
  static void startPool() {
    pool = Pool.start("soft:1,mem=1Gi");
  }

  @AfterAll
  static void stopPool() {
    if (pool != null) {
      pool.close();
    }
  }

  @Test
  void sessions_replayedAndWrongFrames_hurtNobody(@TempDir Path folder) throws Exception {
    try (Agent agent = Agent.start(pool, folder, "--relay");
        Tenant tenant = Tenant.start(pool, "-p", "0.25")) {
      RecordedStream recorded =
          RecordedStream.of(agent, folder, CPrograms.example("vector_add"), Distribution.KERNELS);
      assertThat(recorded.frames()).hasSizeGreaterThan(10);
      tenant.ask("steady");
      long sent = 0;
      int sessions = 0;
      while (sent < FRAMES && sessions < MOST_SESSIONS) {
        pool.awaitFreeBytes(FREE_BESIDE_TENANT_BYTES);
        sent += attack(agent, recorded, new SplittableRandom(SEED + sessions++));
      }
      pool.awaitFreeBytes(FREE_BESIDE_TENANT_BYTES);
      tenant.assertWorkedSteadily();
      assertThat(Processes.residentBytes(agent.program().pid())).isLessThan(MOST_RESIDENT_BYTES);
      assertThat(Processes.residentBytes(pool.server().pid())).isLessThan(MOST_RESIDENT_BYTES);
      assertThat(
              agent.program(CPrograms.example("vector_add"), Distribution.KERNELS).run().output())
          .contains("vector_add: OK");
      assertThat(sent).as("frames in %d sessions", sessions).isGreaterThanOrEqualTo(FRAMES);
    }
    pool.awaitIdle();
  }

  /** One session; returns how many frames went out before it ended or there were enough. */
  private static int attack(Agent agent, RecordedStream recorded, SplittableRandom random)
      throws IOException {
    // Some sessions get wrong numbers all the time and soon end, others live long.
    int oneWrongIn = new int[] {4, 1000, 100_000}[random.nextInt(3)];
    int sent = 0;
    try (SocketChannel channel = recorded.attachTo(agent)) {
      Thread answers = Thread.ofPlatform().daemon().start(() -> drop(channel));
      ByteBuffer batch = ByteBuffer.allocate(1 << 20).order(ByteOrder.LITTLE_ENDIAN);
      while (sent < FRAMES_A_SESSION && answers.isAlive()) {
        int gathered = 0;
        for (byte[] frame = next(recorded.frames(), random, oneWrongIn);
            frame.length <= batch.remaining() && gathered < 500;
            frame = next(recorded.frames(), random, oneWrongIn)) {
          batch.put(frame);
          gathered++;
        }
        batch.flip();
        while (batch.hasRemaining()) {
          channel.write(batch);
        }
        batch.clear();
        sent += gathered;
      }
      channel.write(ByteBuffer.wrap(new byte[random.nextInt(1, 64)]));
    } catch (IOException e) {
      // A session may end at any frame; that others go on is what counts.
      assertThat(e.getMessage()).containsAnyOf("reset", "Broken pipe", "closed");
    }
    return sent;
  }

  private static byte[] next(List<byte[]> frames, SplittableRandom random, int oneWrongIn) {
    byte[] recorded = frames.get(random.nextInt(frames.size()));
    // Long frames hold what is copied; a few of them do.
    while (recorded.length > 4096 && random.nextInt(50) != 0) {
      recorded = frames.get(random.nextInt(frames.size()));
    }
    byte[] frame = recorded.clone();
    if (random.nextInt(oneWrongIn) != 0) {
      return frame;
    }
    ByteBuffer words = ByteBuffer.wrap(frame).order(ByteOrder.LITTLE_ENDIAN);
    int slots = Math.min(8, (frame.length - HEADER_BYTES) / Long.BYTES);
    switch (random.nextInt(8)) {
      case 0 -> words.putShort(4, (short) random.nextInt(400));
      case 1 -> words.putShort(6, (short) random.nextInt(5));
      case 2 -> words.putInt(0, random.nextInt());
      default -> {
        if (slots > 0) {
          int at = HEADER_BYTES + Long.BYTES * random.nextInt(slots);
          words.putLong(at, NASTY[random.nextInt(NASTY.length)]);
        }
      }
    }
    return frame;
  }

  private static void drop(SocketChannel channel) {
    ByteBuffer bytes = ByteBuffer.allocate(1 << 16);
    try {
      while (channel.read(bytes.clear()) >= 0) {
        // Answers to such calls are of no interest.
      }
    } catch (IOException e) {
      // The session has ended.
    }
  }
}
