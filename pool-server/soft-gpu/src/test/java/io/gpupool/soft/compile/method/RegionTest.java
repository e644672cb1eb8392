// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.compile.method;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.soft.compile.ir.BasicBlock;
import io.gpupool.soft.compile.ir.Graph;
import io.gpupool.soft.compile.ir.Terminator;
import io.gpupool.soft.compile.lowering.Lowering;
import io.gpupool.soft.compile.passes.Liveness;
import io.gpupool.soft.compile.passes.Loops;
import io.gpupool.soft.ptx.module.PtxModule;
import io.gpupool.soft.ptx.module.PtxUnit;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** Where threads that run together may leave each other. */
class RegionTest {
  private static final int METHOD_BYTES = 8_000;

  private static List<Region> regions(String body) throws Exception {
    String text =
        """
        .version 8.0
        .target sm_80
        .address_size 64
        .visible .entry k(.param .u64 out, .param .u32 limit)
        {
          .shared .align 4 .b32 cells[1024];
          .reg .pred %p<4>;
          .reg .b32 %r<10>;
          ld.param.u32 %r1, [limit];
          mov.u32 %r2, %tid.x;
          shl.b32 %r2, %r2, 2;
          mov.u32 %r3, cells;
          add.s32 %r2, %r2, %r3;
          mov.u32 %r4, 0;
        """
            + body
            + "\n  ret;\n}\n";
    PtxModule module = PtxModule.link(List.of(PtxUnit.parse(text, 80)));
    var function = module.function("k").orElseThrow();
    Graph graph = Lowering.lower(module, function, Map.of(), module.sharedLayout(function));
    Loops.addLatches(graph);
    Liveness.compute(graph);
    return Region.of(graph, MethodPlan.of(graph, METHOD_BYTES), METHOD_BYTES);
  }

  /** Places behind waits, and the end; others are loops whose threads give way. */
  private static boolean leavesAtWaitsAlone(List<Region> regions) {
    Set<Integer> places = new HashSet<>(Set.of(0));
    regions.forEach(region -> places.add(region.start().resumeId()));
    return regions.stream().allMatch(region -> places.containsAll(region.exits()));
  }

  @Test
  void of_loopThatWaitsEachTurn_isLeftAtWaitsAlone() throws Exception {
    List<Region> regions =
        regions(
            """
            TURN:
              bar.sync 0;
              ld.volatile.shared.u32 %r5, [%r2];
              bar.sync 0;
              st.volatile.shared.u32 [%r2], %r5;
              add.s32 %r4, %r4, 1;
              setp.lt.u32 %p1, %r4, %r1;
              @%p1 bra TURN;
            """);

    assertThat(regions).hasSize(3);
    assertThat(regions).allMatch(region -> region.turning().isEmpty());
    assertThat(leavesAtWaitsAlone(regions)).isTrue();
  }

  @Test
  void of_loopThatSpins_isLeftAtItsTurnsToo() throws Exception {
    List<Region> regions =
        regions(
            """
            TURN:
              bar.sync 0;
            SPIN:
              ld.volatile.shared.u32 %r5, [%r2];
              setp.eq.u32 %p2, %r5, 0;
              @%p2 bra SPIN;
              add.s32 %r4, %r4, 1;
              setp.lt.u32 %p1, %r4, %r1;
              @%p1 bra TURN;
            """);

    assertThat(regions).hasSize(2);
    assertThat(regions.getFirst().turning()).isEmpty();
    assertThat(regions.getLast().turning()).hasSize(1);
    assertThat(leavesAtWaitsAlone(regions)).isFalse();
  }

  @Test
  void of_loopWithAWaitOnOneOfTwoWays_isLeftAtItsTurnsToo() throws Exception {
    List<Region> regions =
        regions(
            """
            TURN:
              ld.volatile.shared.u32 %r5, [%r2];
              setp.eq.u32 %p2, %r5, 0;
              @%p2 bra NEXT;
              bar.sync 0;
            NEXT:
              add.s32 %r4, %r4, 1;
              setp.lt.u32 %p1, %r4, %r1;
              @%p1 bra TURN;
            """);

    assertThat(regions).hasSize(2).allMatch(region -> region.turning().size() == 1);
  }

  @Test
  void of_startInTheMiddleOfALoop_eachBlockComesBehindThoseThatLeadToIt() throws Exception {
    List<Region> regions =
        regions(
            """
            TURN:
              setp.ge.u32 %p1, %r4, %r1;
              @%p1 bra DONE;
              add.s32 %r4, %r4, 1;
              bar.sync 0;
              st.volatile.shared.u32 [%r2], %r4;
              bra TURN;
            DONE:
              st.volatile.shared.u32 [%r2], %r1;
            """);

    assertThat(regions).hasSize(2);
    Region inside = regions.getLast();
    assertThat(inside.blocks().getFirst()).isSameAs(inside.start());
    for (BasicBlock block : inside.blocks()) {
      int here = inside.blocks().indexOf(block);
      boolean waits = block.terminator() instanceof Terminator.Wait;
      assertThat(waits ? List.<BasicBlock>of() : block.terminator().successors())
          .allMatch(next -> inside.blocks().indexOf(next) > here);
    }
  }
}
