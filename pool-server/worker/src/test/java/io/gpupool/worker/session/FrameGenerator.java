// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session;

import io.gpupool.cuda.CollectiveCallLayout;
import io.gpupool.cuda.Ops;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.SplittableRandom;

/** Frames that keep to the layout but to nothing else, and frames that do not even that. */
final class FrameGenerator {
  private static final String PTX =
      """
      .version 8.0
      .target sm_75
      .address_size 64
      .visible .global .align 4 .b8 table[64];
      .visible .entry k(.param .u64 p) {
        .reg .u64 %rd<3>;
        ld.param.u64 %rd1, [p];
        ret;
      }
      """;
  private static final long[] NASTY = {
    0,
    1,
    2,
    7,
    8,
    15,
    16,
    17,
    18,
    19,
    20,
    63,
    64,
    511,
    512,
    4096,
    65_536,
    1 << 20,
    (1 << 20) + 1,
    Integer.MAX_VALUE,
    0x8000_0000L,
    0xffff_ffffL,
    1L << 32,
    1L << 47,
    Long.MAX_VALUE,
    Long.MIN_VALUE,
    -1,
    -2,
    0x2000_0000_0000L,
    0x2000_0000_0200L,
    0x2000_0100_0000L
  };

  private final SplittableRandom random;
  private byte[] previous = Request.acknowledge(0, false);

  FrameGenerator(SplittableRandom random) {
    this.random = random;
  }

  /** A frame whose lengths are right. */
  byte[] wellFormed() {
    byte[] frame =
        switch (random.nextInt(27)) {
          case 0 -> previous;
          case 1 -> op(random.nextInt(Ops.LAST + 1, 1 << 16), random.nextInt(0, 5));
          case 2, 3 -> launch();
          case 4 -> image();
          case 5 -> Request.posted(Ops.imageBegin, context(), small(), PTX.length());
          case 6 -> Request.posted(Ops.imageData, context(), small(), PTX);
          case 7 ->
              Request.fenced(
                  Ops.moduleLoad, context(), tag(), small(), small(), bytes(64), 256, 256, 4096);
          case 8 -> Request.posted(Ops.moduleBindFunction, context(), small(), small(), name());
          case 9 ->
              Request.fenced(
                  Ops.moduleGetFunction, context(), tag(), small(), small(), name(), nasty());
          case 10 -> Request.fenced(Ops.moduleGetGlobal, context(), tag(), small(), name(), 1, 1);
          case 11 -> Request.posted(Ops.memcpyHtoD, context(), nasty(), small(), bytes(2000));
          case 12 -> Request.fenced(Ops.ctxRetainPrimary, context(), tag(), random.nextInt(3), 0);
          case 13 -> Request.posted(Ops.callbackDone, context(), small());
          // Not beyond what was acknowledged: that would be the end.
          case 15 -> Request.acknowledge(0, random.nextBoolean());
          case 14 -> Request.fenced(Ops.memAlloc, context(), tag(), random.nextInt(1 << 20), 1);
          case 16 -> join();
          case 17 -> collectives();
          default -> slots();
        };
    previous = frame;
    return frame;
  }

  /** Something that is no frame, or only the beginning of one. */
  byte[] malformed() {
    byte[] frame = wellFormed().clone();
    ByteBuffer words = ByteBuffer.wrap(frame).order(ByteOrder.LITTLE_ENDIAN);
    switch (random.nextInt(7)) {
      case 6 -> {
        return Request.posted(Ops.memAllocAt, context(), random.nextInt(3), nasty(), nasty());
      }
      case 4 -> {
        return Request.resume(nasty());
      }
      case 5 -> {
        return Request.acknowledge(nasty() | 1L << 40, random.nextBoolean());
      }
      case 0 -> words.putInt(0, random.nextInt());
      case 1 -> words.putInt(0, frame.length + 8 * random.nextInt(1, 100));
      case 2 -> words.putInt(0, Math.max(8, frame.length - 8));
      default -> {
        byte[] cut = new byte[random.nextInt(frame.length)];
        System.arraycopy(frame, 0, cut, 0, cut.length);
        return cut;
      }
    }
    return frame;
  }

  /** Any op that has only slots, with nasty ones. */
  private byte[] slots() {
    while (true) {
      int op = random.nextInt(1, Ops.LAST + 1);
      int slots = SLOTS[op];
      boolean ends = op == Ops.goodbye || op == Ops.memAllocAt;
      if (slots >= 0 && !ends && (op != Ops.streamHostFunction || rarely())) {
        return op(op, slots);
      }
    }
  }

  private byte[] op(int op, int slots) {
    Object[] fields = new Object[slots];
    for (int i = 0; i < slots; i++) {
      fields[i] = random.nextBoolean() ? small() : nasty();
    }
    return op <= Ops.LAST && Ops.isFenced(op)
        ? Request.fenced(op, context(), tag(), fields)
        : Request.posted(op, context(), fields);
  }

  private byte[] launch() {
    int[] shape = new int[6];
    for (int i = 0; i < 6; i++) {
      shape[i] = rarely() ? (int) nasty() : random.nextInt(1, 4);
    }
    return Request.launch(
        Ops.launch, context(), (int) small(), (int) small(), shape, random.nextInt(3), nasty());
  }

  private byte[] image() {
    return rarely()
        ? Request.posted(Ops.imageBegin, context(), small(), nasty())
        : Request.posted(Ops.imageData, context(), small(), bytes(300));
  }

  /** A rank of a communicator, which often has no other. */
  private byte[] join() {
    long ranks = rarely() ? nasty() : random.nextInt(1, 3);
    byte[] id = new byte[rarely() ? random.nextInt(1, 200) : 128];
    id[0] = (byte) random.nextInt(8);
    return Request.fenced(
        Ops.communicatorJoin, context(), tag(), small(), ranks, random.nextInt(2), id);
  }

  /** Calls of NCCL, of memory that the session has or not. */
  private byte[] collectives() {
    if (rarely()) {
      return Request.posted(Ops.communicatorConnect, context(), small(), bytes(20));
    }
    ByteBuffer calls =
        ByteBuffer.allocate(CollectiveCallLayout.BYTES * random.nextInt(1, 4))
            .order(ByteOrder.LITTLE_ENDIAN);
    while (calls.hasRemaining()) {
      calls.putInt(random.nextInt(8)).putInt(random.nextInt(13)).putInt(random.nextInt(7));
      calls.putInt(rarely() ? (int) nasty() : random.nextInt(2));
      calls.putLong(nasty()).putLong(nasty());
      calls.putLong(random.nextBoolean() ? random.nextInt(100) : nasty());
      calls.putLong(nasty()).putInt(random.nextInt(2)).putInt(0);
    }
    return Request.posted(Ops.communicatorCalls, context(), small(), small(), calls.array());
  }

  private byte[] bytes(int limit) {
    byte[] bytes = new byte[random.nextInt(limit)];
    random.nextBytes(bytes);
    return bytes;
  }

  private byte[] name() {
    String name =
        switch (random.nextInt(4)) {
          case 0 -> "k";
          case 1 -> "table";
          case 2 -> "";
          default -> "nothing";
        };
    return name.getBytes(StandardCharsets.UTF_8);
  }

  private int context() {
    return rarely() ? random.nextInt(1 << 16) : random.nextInt(4);
  }

  private int tag() {
    return random.nextInt() & Integer.MAX_VALUE;
  }

  private long small() {
    return random.nextInt(24);
  }

  private long nasty() {
    return NASTY[random.nextInt(NASTY.length)];
  }

  private boolean rarely() {
    return random.nextInt(50) == 0;
  }

  /** The number of slots of each op; -1 for those with buffers or a layout of their own. */
  private static final int[] SLOTS = OpSlots.read();
}
