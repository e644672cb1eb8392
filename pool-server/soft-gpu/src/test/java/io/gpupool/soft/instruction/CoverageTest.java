// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.instruction;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.gpupool.soft.compile.KernelCompiler;
import io.gpupool.soft.compile.ir.CompileException;
import io.gpupool.soft.ptx.SpecialRegisters;
import io.gpupool.soft.ptx.Statement.Instruction;
import io.gpupool.soft.ptx.Type;
import io.gpupool.soft.ptx.instruction.GeneratePtxCoverage;
import io.gpupool.soft.ptx.instruction.InstructionForm;
import io.gpupool.soft.ptx.instruction.InstructionForm.Status;
import io.gpupool.soft.ptx.instruction.InstructionForms;
import io.gpupool.soft.ptx.module.PtxModule;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What the table of instructions says is refused, or tested elsewhere, is so. */
class CoverageTest {
  /** At least one instruction of every refused form. */
  private static final List<String> REFUSED =
      List.of(
          "fma.rn.oob.f16 %h0, %h1, %h2, %h3",
          "cvt.rn.satfinite.e2m1x2.f32 %h0, %f0, %f1",
          "cvt.rs.relu.f16x2.f32 %r0, %f0, %f1, %r1",
          "cvta.to.global.u32 %r0, %r1",
          "istypep.texref %p0, %d0",
          "st.bulk.shared::cta [%d0], 16, 0",
          "multimem.ld_reduce.relaxed.sys.global.add.u32 %r0, [%d0]",
          "redux.sync.min.f32 %f0, %f1, %r0",
          "shfl.up.b32 %r0, %r1, %r2, %r3, %r4",
          "vote.all.pred %p0, %p1",
          "cp.async.bulk.tensor.3d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes "
              + "[%d0], [%d1, {%r0, %r1, %r2}], [%d2], {%h0}",
          "tensormap.replace.tile.global_address.global.b1024.b64 [%d0], %d1",
          "cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.add.u32 "
              + "[%d0], [%d1], 16, [%d2]",
          "cp.async.bulk.global.shared::cta.bulk_group.cp_mask [%d0], [%d1], 16, %h0",
          "tex.2dms.v4.f32.s32 {%f0, %f1, %f2, %f3}, [%d0, {%r0, %r1, %r2, %r3}]",
          "suld.p.1d.v4.b32.trap {%r0, %r1, %r2, %r3}, [%d0, {%r4}]",
          "sust.p.1d.b32.trap [%d0, {%r0}], %r1",
          "sured.p.add.1d.u32.trap [%d0, {%r0}], %r1",
          "txq.channel_order.b32 %r0, [%d0]",
          "suq.channel_data_type.b32 %r0, [%d0]",
          "mma.sync.aligned.m8n8k4.row.col.f16.f16.f16.f16 "
              + "{%r0, %r1}, {%r2, %r3}, {%r0, %r1}, {%r2, %r3}",
          "wmma.load.a.sync.aligned.row.m8n8k32.s4 {%r0}, [%d0]",
          "wgmma.fence.sync.aligned",
          "ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8 {%r0, %r1}, [%d0]",
          "stmatrix.sync.aligned.m16n8.x1.trans.shared.b8 [%d0], {%r0}",
          "tcgen05.fence::before_thread_sync",
          "clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 "
              + "[%d0], [%d1]");

  private static PtxModule module(String instruction) throws Exception {
    return PtxModule.parse(
        """
        .version 9.0
        .target sm_90
        .address_size 64
        .visible .entry kernel()
        {
          .reg .pred %%p<4>; .reg .b16 %%h<4>; .reg .b32 %%r<5>; .reg .b64 %%d<4>;
          .reg .f32 %%f<4>; .reg .f64 %%g<4>;
          %s;
          ret;
        }
        """
            .formatted(instruction),
        90);
  }

  @Test
  void refusedForms_ofEachOne_nameInstructionLineAndReason() throws Exception {
    Set<InstructionForm> seen = new HashSet<>();
    for (String text : REFUSED) {
      PtxModule module = module(text);
      Instruction instruction =
          (Instruction) module.function("kernel").orElseThrow().body().getFirst();
      InstructionForm form = InstructionForms.of(instruction).orElseThrow();
      assertThat(form.status()).as(text).isEqualTo(Status.REFUSED);
      seen.add(form);
      assertThatThrownBy(() -> KernelCompiler.compile(module, "kernel", Map.of()))
          .isInstanceOf(CompileException.class)
          .hasMessageContaining("line 8, column 3: " + text.split(" ")[0])
          .hasMessageContaining(form.note());
    }
    assertThat(InstructionForms.all().stream().filter(form -> form.status() == Status.REFUSED))
        .filteredOn(form -> !form.opcode().equals("blocksareclusters"))
        .allMatch(form -> seen.contains(form) || isSeen(form, seen));
  }

  /** Alternatives that are written as patterns of their own. */
  private static boolean isSeen(InstructionForm form, Set<InstructionForm> seen) {
    return seen.stream()
        .anyMatch(
            other -> other.opcode().equals(form.opcode()) && other.note().equals(form.note()));
  }

  @Test
  void gridOfClusters_demandedByAKernel_isRefusedWithLineAndReason() throws Exception {
    String head = ".version 9.0\n.target sm_90\n.address_size 64\n.visible .entry kernel()\n";
    String tail = ".explicitcluster\n.reqnctapercluster 2, 1, 1\n%s{\n ret;\n}\n";
    PtxModule counted = PtxModule.parse(head + tail.formatted(".blocksareclusters\n"), 90);
    PtxModule plain = PtxModule.parse(head + tail.formatted(""), 90);

    assertThatThrownBy(() -> KernelCompiler.compile(counted, "kernel", Map.of()))
        .isInstanceOf(CompileException.class)
        .hasMessageContaining(
            "line 7, column 1: blocksareclusters is not supported: grids whose extent counts");
    assertThat(KernelCompiler.compile(plain, "kernel", Map.of())).isNotNull();
  }

  @Test
  void unknownForm_compiled_isRefusedWithInstructionAndLine() throws Exception {
    PtxModule module = module("add.rn.unheard.f32 %f0, %f1, %f2");

    assertThatThrownBy(() -> KernelCompiler.compile(module, "kernel", Map.of()))
        .isInstanceOf(CompileException.class)
        .hasMessageContaining("line 8, column 3: add.rn.unheard.f32 is not supported");
  }

  @Test
  void formsTestedElsewhere_theirTests_exist() throws IOException {
    Path root = root();
    Set<String> files = new HashSet<>();
    for (String folder : List.of("pool-server/soft-gpu/src/test", "deploy/examples/cuda")) {
      try (Stream<Path> paths = Files.walk(root.resolve(folder))) {
        paths.forEach(path -> files.add(path.getFileName().toString()));
      }
    }
    for (InstructionForm form : InstructionForms.all()) {
      if (form.status() == Status.TESTED_ELSEWHERE) {
        String note = form.note();
        assertThat(files).as(form.toString()).contains(note.contains(".") ? note : note + ".java");
      }
    }
  }

  @Test
  void specialRegisters_eachOne_canBeRead() throws Exception {
    StringBuilder body = new StringBuilder("mov.b32 %r0, 0");
    for (String name : SpecialRegisters.names()) {
      Type type = SpecialRegisters.typeOf(name).orElseThrow();
      body.append(
          switch (type) {
            case PRED -> ";\n mov.pred %p0, " + name;
            case U64 -> ";\n mov.u64 %d0, " + name;
            default -> ";\n mov." + type.ptxName() + " %r0, " + name;
          });
    }
    assertThat(KernelCompiler.compile(module(body.toString()), "kernel", Map.of())).isNotNull();
  }

  @Test
  void clusterRegisters_ofAnOrdinaryLaunch_areThoseOfOneBlockAlone() {
    List<Case> cases =
        Stream.of(
                "%cluster_nctaid.x 1",
                "%cluster_nctaid.y 1",
                "%cluster_nctaid.z 1",
                "%cluster_ctaid.x 0",
                "%cluster_nctarank 1",
                "%cluster_ctarank 0")
            .map(line -> {
              String[] parts = line.split(" ");
              String body = "mov.u32 %x0, " + parts[0] + ";";
              long expected = Long.parseLong(parts[1]);
              List<Type> one = List.of(Type.B32);
              Case.Judge judge = Case.exact(Type.B32, _ -> expected);
              return new Case(line, body, one, one, Edges.tuples(one), judge);
            })
            .toList();

    assertThat(InstructionRun.run(cases)).isEmpty();
  }

  @Test
  void coveragePage_generatedAnew_isTheOneInTheDocumentation(@TempDir Path folder)
      throws IOException {
    GeneratePtxCoverage.main(new String[] {folder.toString()});

    assertThat(root().resolve("docs/reference/ptx-coverage.md"))
        .hasSameTextualContentAs(folder.resolve("ptx-coverage.md"));
  }

  private static Path root() {
    Path folder = Path.of("").toAbsolutePath();
    while (!Files.exists(folder.resolve("docs/reference/software-gpu.md"))) {
      folder = folder.getParent();
    }
    return folder;
  }
}
