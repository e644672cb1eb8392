// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.fuzz;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.soft.ptx.instruction.InstructionForm;
import io.gpupool.soft.ptx.instruction.InstructionForms;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/**
 * The page on the safety of memory says of every form that is executed whether it touches memory,
 * and what bounds it.
 */
class MemorySafetyPageTest {
  private static final Pattern ROW = Pattern.compile("\\| ([a-z]+) \\| (`.*`) \\| .+ \\|");
  private static final Set<String> BOUNDS =
      Set.of("address", "elements", "copy", "map", "object", "frame", "stack", "lanes", "none");

  /** What takes no address from a register: calls, and what only counts. */
  private static final Set<String> WITHOUT_ADDRESS =
      Set.of("call", "ret", "alloca", "stacksave", "stackrestore");

  /**
   * Forms that the page names together.
   *
   * @param modifiers that such a form can have, all of them
   */
  private record Name(String bound, String opcode, List<String> modifiers) {
    static Name of(String bound, String text) {
      List<String> parts = Arrays.asList(text.split("\\."));
      return new Name(bound, parts.getFirst(), parts.subList(1, parts.size()));
    }

    boolean covers(InstructionForm form) {
      return form.opcode().equals(opcode)
          && modifiers.stream()
              .allMatch(modifier ->
                  form.groups().stream()
                      .anyMatch(group -> group.alternatives().contains(modifier)));
    }
  }

  private static List<Name> names() throws Exception {
    Path folder = Path.of("").toAbsolutePath();
    while (!Files.exists(folder.resolve("docs/design/soft-gpu-memory-safety.md"))) {
      folder = folder.getParent();
    }
    String page = Files.readString(folder.resolve("docs/design/soft-gpu-memory-safety.md"));
    List<Name> names = new ArrayList<>();
    for (String line : page.lines().toList()) {
      Matcher row = ROW.matcher(line);
      if (row.matches()) {
        assertThat(BOUNDS).contains(row.group(1));
        for (String name : row.group(2).replace("`", "").split(" ")) {
          names.add(Name.of(row.group(1), name));
        }
      }
    }
    return names;
  }

  private static List<InstructionForm> executed() {
    return InstructionForms.all().stream()
        .filter(form -> form.status() != InstructionForm.Status.REFUSED)
        .toList();
  }

  /** The most special names that cover a form. */
  private static List<Name> of(InstructionForm form, List<Name> names) {
    List<Name> covering = names.stream().filter(name -> name.covers(form)).toList();
    int most = covering.stream().mapToInt(name -> name.modifiers.size()).max().orElse(0);
    return covering.stream().filter(name -> name.modifiers.size() == most).toList();
  }

  @Test
  void form_executed_hasOneBoundOnThePage() throws Exception {
    List<Name> names = names();
    for (InstructionForm form : executed()) {
      assertThat(of(form, names).stream().map(Name::bound).distinct())
          .as("bounds of %s", form)
          .hasSize(1);
    }
  }

  @Test
  void name_onThePage_coversSomeForm() throws Exception {
    for (Name name : names()) {
      assertThat(executed()).as("%s", name).anyMatch(name::covers);
    }
  }

  @Test
  void form_thatTouchesMemory_isRunWithHostileNumbers() throws Exception {
    List<Name> names = names();
    Set<String> touching =
        executed().stream()
            .filter(form -> {
              String bound = of(form, names).getFirst().bound;
              return !bound.equals("none") && !bound.equals("lanes");
            })
            .map(InstructionForm::opcode)
            .filter(opcode -> !WITHOUT_ADDRESS.contains(opcode))
            .collect(Collectors.toCollection(TreeSet::new));

    assertThat(HostileForm.OPCODES).containsAll(touching);
  }
}
