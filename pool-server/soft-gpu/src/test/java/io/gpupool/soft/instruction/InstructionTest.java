// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.instruction;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.soft.ptx.instruction.InstructionForm;
import io.gpupool.soft.ptx.instruction.InstructionForm.Status;
import io.gpupool.soft.ptx.instruction.InstructionForms;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;

/**
 * Every form of every instruction that the compiler takes, with each of its types and modifiers,
 * over edge values. The forms are those of the table that the compiler and the documentation use;
 * one without a reference here fails.
 */
class InstructionTest {
  @TestFactory
  Stream<DynamicTest> everyForm_edgeValues_isAsTheReferenceSays() {
    String only = System.getProperty("gpupool.instructions", "");
    return InstructionForms.all().stream()
        .filter(form -> form.status() == Status.EXECUTED || form.status() == Status.NO_EFFECT)
        .filter(form -> form.toString().startsWith(only))
        .map(form -> DynamicTest.dynamicTest(form.toString(), () -> check(form)));
  }

  private static void check(InstructionForm form) {
    List<Case> cases = new ArrayList<>();
    for (Sample sample : Sample.of(form)) {
      List<Case> some = References.of(sample);
      assertThat(some).as(sample.text()).isNotEmpty();
      cases.addAll(some);
    }
    assertThat(InstructionRun.run(cases)).isEmpty();
  }
}
