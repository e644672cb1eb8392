// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.collective;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.cuda.BackendTraits.AddressRange;
import io.gpupool.cuda.CollectiveCallLayout;
import io.gpupool.cuda.CollectiveKind;
import io.gpupool.cuda.ReduceOperation;
import io.gpupool.cuda.WireStruct;
import io.gpupool.worker.os.Memory;
import java.lang.foreign.Arena;
import java.util.Optional;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class CollectiveCallTest {
  private static final int RANKS = 4;
  private static final int INT32 = ElementType.INT32.ordinal();

  private final Arena arena = Arena.ofConfined();
  private final long wire = arena.allocate(CollectiveCallLayout.BYTES, 8).address();

  @AfterEach
  void free() {
    arena.close();
  }

  @Test
  void call_onTheWire_isRead() {
    put(CollectiveKind.REDUCE, INT32, ReduceOperation.PRE_MULTIPLIED_SUM, 3, 5);
    Memory.putLong(wire + CollectiveCallLayout.SEND, 100);
    Memory.putLong(wire + CollectiveCallLayout.RECEIVE, 200);
    Memory.putLong(wire + CollectiveCallLayout.SCALAR, 300);
    Memory.putInt(wire + CollectiveCallLayout.SCALAR_IN_MEMORY, 1);
    assertThat(read())
        .contains(
            new CollectiveCall(
                CollectiveKind.REDUCE,
                ElementType.INT32,
                ReduceOperation.PRE_MULTIPLIED_SUM,
                3,
                100,
                200,
                5,
                new Scalar(300, true)));
    assertThat(read().orElseThrow().scalarRange()).isEqualTo(new AddressRange(300, 4));
    assertThat(read().orElseThrow().readRange(0, RANKS)).isEqualTo(new AddressRange(100, 20));
    assertThat(read().orElseThrow().writtenRange(0, RANKS)).isEqualTo(AddressRange.NONE);
    assertThat(read().orElseThrow().writtenRange(3, RANKS)).isEqualTo(new AddressRange(200, 20));
  }

  @Test
  void calls_thatCannotBe_areNone() {
    put(CollectiveKind.RECEIVE + 1, INT32, 0, 0, 1);
    assertThat(read()).isEmpty();
    put(-1, INT32, 0, 0, 1);
    assertThat(read()).isEmpty();
    put(0, ElementType.values().length, 0, 0, 1);
    assertThat(read()).isEmpty();
    put(0, INT32, ReduceOperation.PRE_MULTIPLIED_SUM + 1, 0, 1);
    assertThat(read()).isEmpty();
    put(0, INT32, 0, RANKS, 1);
    assertThat(read()).isEmpty();
    put(0, INT32, 0, -1, 1);
    assertThat(read()).isEmpty();
    put(0, INT32, 0, 0, -1);
    assertThat(read()).isEmpty();
    put(0, INT32, 0, 0, Long.MAX_VALUE / 16 + 1);
    assertThat(read()).isEmpty();
    put(0, INT32, 0, 0, Long.MAX_VALUE / 16);
    assertThat(read()).isPresent();
  }

  @Test
  void lengths_areThoseOfTheKind() {
    assertLengths(CollectiveKind.ALL_REDUCE, 40, 40);
    assertLengths(CollectiveKind.BROADCAST, 40, 40);
    assertLengths(CollectiveKind.REDUCE, 40, 40);
    assertLengths(CollectiveKind.ALL_GATHER, 40, 160);
    assertLengths(CollectiveKind.REDUCE_SCATTER, 160, 40);
    assertLengths(CollectiveKind.SEND, 40, 0);
    assertLengths(CollectiveKind.RECEIVE, 0, 40);
  }

  private void assertLengths(int kind, long sendBytes, long receiveBytes) {
    put(kind, INT32, 0, 0, 10);
    assertThat(read().orElseThrow().sendBytes(RANKS)).isEqualTo(sendBytes);
    assertThat(read().orElseThrow().receiveBytes(RANKS)).isEqualTo(receiveBytes);
  }

  private void put(int kind, int type, int operation, int peer, long count) {
    Memory.putInt(wire + CollectiveCallLayout.KIND, kind);
    Memory.putInt(wire + CollectiveCallLayout.TYPE, type);
    Memory.putInt(wire + CollectiveCallLayout.OPERATION, operation);
    Memory.putInt(wire + CollectiveCallLayout.PEER, peer);
    Memory.putLong(wire + CollectiveCallLayout.COUNT, count);
  }

  private Optional<CollectiveCall> read() {
    return CollectiveCall.read(WireStruct.at(wire, CollectiveCallLayout.BYTES), 0, RANKS);
  }
}
