// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.instruction;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;

import io.gpupool.soft.compile.KernelCompiler;
import io.gpupool.soft.ptx.GlobalVariable;
import io.gpupool.soft.ptx.KernelInfo;
import io.gpupool.soft.ptx.instruction.InstructionForms;
import io.gpupool.soft.ptx.module.PtxModule;
import java.io.IOException;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/**
 * What nvcc makes of CUDA C++ that uses its headers, for architectures from 7.5 to 10.0: the
 * instructions are spelled as programs have them, not as the table of forms has them. {@code
 * make.sh} beside the PTX makes it anew.
 */
class CompiledFormsTest {
  private static final Pattern INSTRUCTION =
      Pattern.compile(
          "\\s*(?:\\{\\s*)?(?:@!?%p\\d+\\s+)?([a-z]\\w*)((?:\\.[\\w:]+)*)(?!\\s*:)[\\s;].*");

  private static Path folder() {
    try {
      return Path.of(CompiledFormsTest.class.getResource("/nvcc/make.sh").toURI()).getParent();
    } catch (URISyntaxException e) {
      throw new IllegalStateException(e);
    }
  }

  private static List<Path> files() throws IOException {
    try (Stream<Path> paths = Files.list(folder())) {
      return paths.filter(path -> path.toString().endsWith(".ptx")).sorted().toList();
    }
  }

  /** The architecture in a file's name. */
  private static int architecture(Path file) {
    return Integer.parseInt(file.getFileName().toString().split("\\.")[1]);
  }

  @TestFactory
  Stream<DynamicTest> kernelsOfNvcc_ofEveryArchitecture_compile() throws Exception {
    return files().stream()
        .map(file -> DynamicTest.dynamicTest(file.getFileName().toString(), () -> compile(file)));
  }

  private static void compile(Path file) throws Exception {
    PtxModule module = PtxModule.parse(Files.readString(file), architecture(file));
    Map<String, Long> addresses = new HashMap<>();
    for (GlobalVariable global : module.globals()) {
      addresses.put(global.name(), 0x1000L * (addresses.size() + 1));
    }
    assertThat(module.kernels()).isNotEmpty();
    for (KernelInfo kernel : module.kernels()) {
      assertThatCode(() -> KernelCompiler.compile(module, kernel.name(), addresses))
          .as(kernel.name())
          .doesNotThrowAnyException();
    }
  }

  @Test
  void spellingsOfNvcc_eachOne_areOfAFormInTheTable() throws Exception {
    Set<String> unknown = new TreeSet<>();
    Set<String> seen = new TreeSet<>();
    for (Path file : files()) {
      for (String line : Files.readAllLines(file)) {
        Matcher instruction = INSTRUCTION.matcher(line);
        if (instruction.matches()) {
          String modifiers = instruction.group(2);
          List<String> list =
              modifiers.isEmpty() ? List.of() : List.of(modifiers.substring(1).split("\\."));
          seen.add(instruction.group(1) + modifiers);
          if (InstructionForms.of(instruction.group(1), list).isEmpty()) {
            unknown.add(instruction.group(1) + modifiers);
          }
        }
      }
    }
    assertThat(seen).hasSizeGreaterThan(500);
    assertThat(unknown).isEmpty();
  }
}
