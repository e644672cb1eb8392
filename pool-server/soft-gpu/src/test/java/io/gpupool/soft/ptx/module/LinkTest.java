// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.ptx.module;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.gpupool.soft.ptx.GlobalVariable;
import io.gpupool.soft.ptx.KernelInfo;
import io.gpupool.soft.ptx.Linkage;
import io.gpupool.soft.ptx.PtxException;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** What becomes of names when translation units are linked. */
class LinkTest {
  private static final String HEAD = ".version 8.0\n.target sm_75\n.address_size 64\n";
  private static final String CALLER =
      """
      .extern .func work (.param .b32 a);
      .visible .entry kernel()
      {
        .param .b32 p;
        .reg .b32 %r;
        mov.b32 %r, 1;
        st.param.b32 [p], %r;
        call.uni work, (p);
        ret;
      }
      """;

  private static PtxModule link(String... texts) throws PtxException {
    List<PtxUnit> units = new ArrayList<>();
    for (String text : texts) {
      units.add(PtxUnit.parse(HEAD + text, 90));
    }
    return PtxModule.link(units);
  }

  private static String work(String linkage) {
    return linkage + " .func work (.param .b32 a) { ret; }\n";
  }

  private static GlobalVariable global(PtxModule module, String name) {
    return module.globals().stream()
        .filter(global -> global.name().equals(name))
        .findAny()
        .orElseThrow();
  }

  @Test
  void extern_definedElsewhere_isFound() throws Exception {
    PtxModule module = link(CALLER, work(".visible"));

    assertThat(module.function("work").orElseThrow().defined()).isTrue();
    assertThat(module.kernels()).extracting(KernelInfo::name).containsExactly("kernel");
  }

  @Test
  void extern_definedNowhere_isNamed() {
    assertThatThrownBy(() -> link(CALLER, ".visible .global .u32 other;"))
        .isInstanceOf(PtxException.class)
        .hasMessageContaining("Undefined reference to 'work'");
  }

  @Test
  void externVariable_definedNowhere_isNamed() {
    assertThatThrownBy(() -> link(".extern .global .u32 counter;"))
        .hasMessageContaining("Undefined reference to 'counter'");
  }

  @Test
  void visible_definedTwice_isNamed() {
    assertThatThrownBy(() -> link(work(".visible"), work(".visible")))
        .hasMessageContaining("Multiple definition of 'work'");
    assertThatThrownBy(() -> link(".visible .global .u32 x;", ".visible .global .u32 x;"))
        .hasMessageContaining("Multiple definition of 'x'");
  }

  @Test
  void weak_definedTwice_yieldsToVisible() throws Exception {
    PtxModule module = link(work(".weak"), work(".visible"), work(".weak"));

    assertThat(module.function("work").orElseThrow().linkage()).isEqualTo(Linkage.VISIBLE);
  }

  @Test
  void common_definedTwice_isTheLargest() throws Exception {
    PtxModule module =
        link(
            ".common .global .u32 x[2];",
            ".common .global .u32 x[5];",
            ".common .global .u32 x[3];");

    assertThat(global(module, "x").sizeBytes()).isEqualTo(20);
  }

  @Test
  void localNames_ofSeveralUnits_areToldApart() throws Exception {
    String unit =
        """
        .global .u32 mine = %d;
        .visible .global .u64 place%d = mine;
        .func local (.param .b32 a) { ret; }
        .visible .entry kernel%d()
        {
          .param .b32 p;
          .reg .b32 %%r;
          ld.global.u32 %%r, [mine];
          st.param.b32 [p], %%r;
          call.uni local, (p);
          ret;
        }
        """;

    PtxModule module = link(unit.formatted(1, 1, 1), unit.formatted(2, 2, 2));

    assertThat(module.globals()).hasSize(4);
    String first = global(module, "place1").relocations().getFirst().symbol();
    String second = global(module, "place2").relocations().getFirst().symbol();
    assertThat(global(module, first).initializer()).startsWith(1);
    assertThat(global(module, second).initializer()).startsWith(2);
    assertThat(module.kernels()).hasSize(2);
  }

  @Test
  void localName_thatNobodyElseHas_isKept() throws Exception {
    PtxModule module = link(".global .u32 mine;", ".global .u32 yours;");

    assertThat(module.globals()).extracting(GlobalVariable::name).containsExactly("mine", "yours");
  }

  @Test
  void alias_ofFunction_isCalledFromOtherUnit() throws Exception {
    PtxModule module =
        link(
            CALLER,
            """
            .visible .func actual (.param .b32 a) { ret; }
            .visible .func work (.param .b32 a);
            .alias work, actual;
            """);

    assertThat(module.function("work").orElseThrow().name()).isEqualTo("actual");
  }
}
