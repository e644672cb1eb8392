// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session.journal;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.cuda.OpEffect;
import io.gpupool.cuda.OpEffects;
import io.gpupool.cuda.Ops;
import io.gpupool.worker.os.Memory;
import java.lang.foreign.Arena;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** The calls of a session whose effect lasts. */
class JournalTest {
  private static final int CONTEXT = 1;
  private static final int HEADER_BYTES = 8;
  private static final long[] NO_NUMBERS = {};

  private final Journal journal = new Journal();
  private final Arena arena = Arena.ofConfined();

  @AfterEach
  void close() {
    arena.close();
  }

  /** Notes a posted call of some fields. */
  private void posted(int op, long... fields) {
    note(op, 0, fields, 0);
  }

  /** Notes a fenced call of some fields, which was answered with a number. */
  private void fenced(int op, long answer, long... fields) {
    note(op, Long.BYTES, fields, answer);
  }

  private void note(int op, int tagBytes, long[] fields, long answer) {
    int bytes = HEADER_BYTES + tagBytes + Long.BYTES * fields.length;
    long frame = arena.allocate(bytes, Long.BYTES).address();
    for (int i = 0; i < fields.length; i++) {
      Memory.putLong(frame + HEADER_BYTES + tagBytes + (long) Long.BYTES * i, fields[i]);
    }
    long outputs = arena.allocate(Long.BYTES, Long.BYTES).address();
    Memory.putLong(outputs, answer);
    OpEffect effect = Objects.requireNonNull(OpEffects.of(op), Ops.name(op));
    journal.note(effect, op, CONTEXT, frame, bytes, outputs, Long.BYTES, NO_NUMBERS);
  }

  private List<Integer> ops() {
    return journal.entries().stream().map(JournalEntry::op).toList();
  }

  @Test
  void object_thatHasEnded_leavesNothing() {
    fenced(Ops.memAlloc, 0x1000, 300, 1);
    fenced(Ops.memAlloc, 0x2000, 300, 1);
    posted(Ops.memFree, 0x1000);
    assertThat(ops()).containsExactly(Ops.memAlloc);
    posted(Ops.memFree, 0x2000);
    assertThat(ops()).isEmpty();
  }

  @Test
  void setting_thatIsMadeAgain_countsOnceAndLast() {
    fenced(Ops.ctxSetLimit, 0, 2, 100);
    fenced(Ops.ctxSetLimit, 0, 3, 200);
    fenced(Ops.ctxSetLimit, 0, 2, 300);
    assertThat(journal.entries())
        .extracting(entry -> entry.frame()[16])
        .containsExactly((byte) 3, (byte) 2);
  }

  @Test
  void owner_thatEnds_takesWhatItOwnsWithIt() {
    posted(Ops.graphCreate, 5);
    posted(Ops.graphAddNodes, 5);
    posted(Ops.graphAddNodes, 5);
    posted(Ops.graphSetEnabled, 5, 0, 1);
    posted(Ops.graphCreate, 6);
    assertThat(ops())
        .containsExactly(
            Ops.graphCreate,
            Ops.graphAddNodes,
            Ops.graphAddNodes,
            Ops.graphSetEnabled,
            Ops.graphCreate);
    posted(Ops.graphDestroy, 5);
    assertThat(ops()).containsExactly(Ops.graphCreate);
  }

  @Test
  void graph_thatIsReset_keepsItsConditions() {
    fenced(Ops.graphCondition, 0x3000, 5, 1, 0, 1);
    posted(Ops.graphAddNodes, 5);
    posted(Ops.graphReset, 5);
    assertThat(ops()).containsExactly(Ops.graphCondition);
  }

  @Test
  void context_thatEnds_takesStreamsAndEventsWithIt() {
    fenced(Ops.ctxRetainPrimary, 0, 0, 0);
    posted(Ops.streamCreate, 20, 0, 0);
    posted(Ops.eventCreate, 21, 0);
    fenced(Ops.memAllocAsync, 0x5000, 100, 0, 0, 1);
    // Retained again, it is the same.
    fenced(Ops.ctxRetainPrimary, 0, 0, 0);
    assertThat(ops())
        .containsExactly(
            Ops.ctxRetainPrimary, Ops.streamCreate, Ops.eventCreate, Ops.memAllocAsync);
    journal.endOwned(OpEffect.CONTEXT, CONTEXT);
    // Memory of a pool is not its context's.
    assertThat(ops()).containsExactly(Ops.ctxRetainPrimary, Ops.memAllocAsync);
    journal.end(OpEffect.CONTEXT, CONTEXT);
    assertThat(ops()).containsExactly(Ops.memAllocAsync);
  }

  @Test
  void thing_thatCannotMove_isNamedUntilItEnds() {
    assertThat(journal.fixed()).isEmpty();
    fenced(Ops.linkCreate, 0, 7);
    assertThat(journal.fixed()).contains("code that is being linked");
    posted(Ops.linkDestroy, 7);
    assertThat(journal.fixed()).isEmpty();
  }
}
