// SPDX-License-Identifier: Apache-2.0
package io.gpupool.contract;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ContractTest {
  static final Path FOLDER = Path.of("src/main/contract");

  @TempDir Path folder;

  @Test
  void description_ofThisProject_isWellFormed() throws IOException {
    Contract contract = Contract.read(FOLDER);

    assertThat(contract.entryPoints()).hasSizeGreaterThan(500);
    assertThat(contract.ops()).extracting(Op::number).doesNotHaveDuplicates().startsWith(1);
  }

  @Test
  void everyTypeOfAParameter_isKnown() throws IOException {
    Contract contract = Contract.read(FOLDER);
    Set<String> known = new HashSet<>(contract.types().keySet());
    known.addAll(
        List.of("void", "void *", "char", "char *", "int", "float", "size_t", "unsigned int"));
    known.addAll(List.of("unsigned", "unsigned char", "unsigned short", "unsigned long long"));

    for (EntryPoint entryPoint : contract.entryPoints()) {
      for (Parameter parameter : entryPoint.parameters()) {
        String type = parameter.baseType().replaceAll("[ *]*$", "");
        assertThat(known).as(entryPoint.symbol() + ": " + parameter.declaration()).contains(type);
      }
    }
  }

  @Test
  void digest_changedField_changes() throws IOException {
    write("topic t\nop one posted (u32 a)\n", "");
    int before = Contract.read(folder).digest();
    write("topic t\nop one posted (u64 a)\n", "");

    assertThat(Contract.read(folder).digest()).isNotEqualTo(before);
  }

  @Test
  void struct_ofTheWire_hasItsFieldsAtTheirNaturalPlaces() throws IOException {
    write("", "");
    Files.writeString(
        folder.resolve("wire.txt"),
        """
        struct Thing thing
          uint16_t kind
          uint64_t firstAddress
          uint32_t grid[3]
        """);

    Layout layout = Contract.read(folder).wire().layouts().getFirst();

    assertThat(layout.sizeBytes()).isEqualTo(32);
    assertThat(layout.fields()).extracting(Layout.LayoutField::offset).containsExactly(0, 8, 16);
    assertThat(layout.fields().get(1).constant()).isEqualTo("FIRST_ADDRESS");
    assertThat(layout.fields().get(2).declaration()).isEqualTo("uint32_t grid[3]");
  }

  @Test
  void digest_changedStruct_changes() throws IOException {
    write("", "");
    int before = Contract.read(folder).digest();
    Files.writeString(folder.resolve("wire.txt"), "struct Thing thing\n  uint16_t kind\n");

    assertThat(Contract.read(folder).digest()).isNotEqualTo(before);
  }

  @Test
  void wireLine_thatIsNoField_isRefusedWithFileAndLine() throws IOException {
    write("", "");
    Files.writeString(folder.resolve("wire.txt"), "struct Thing thing\n  CUnothing kind\n");

    assertThatThrownBy(() -> Contract.read(folder))
        .isInstanceOf(ContractException.class)
        .hasMessageContaining("wire.txt:2: unknown type: CUnothing");
  }

  @Test
  void op_beforeTheFirstTopic_isRefusedWithFileAndLine() throws IOException {
    write("# ops\nop one posted (u32 a)\ntopic t\n", "");

    assertThatThrownBy(() -> Contract.read(folder))
        .isInstanceOf(ContractException.class)
        .hasMessageContaining("ops.txt:2: an op before the first topic");
  }

  @Test
  void entryPoint_inNoClass_isRefusedWithFileAndLine() throws IOException {
    write("", "# topic\n\ncuInit 2000 whenever hand\n    (unsigned int Flags)\n");

    assertThatThrownBy(() -> Contract.read(folder))
        .isInstanceOf(ContractException.class)
        .hasMessageContaining("topic.contract:3: cuInit is in no class: \"whenever\"");
  }

  @Test
  void refusedEntryPoint_withoutReason_isRefused() throws IOException {
    write("", "cuInit 2000 refused\n    (unsigned int Flags)\n");

    assertThatThrownBy(() -> Contract.read(folder))
        .isInstanceOf(ContractException.class)
        .hasMessageContaining("refused with a reason");
  }

  @Test
  void entryPoint_declaredTwice_isRefused() throws IOException {
    String declaration = "cuInit 2000 local hand\n    (unsigned int Flags)\n";
    write("", declaration + declaration);

    assertThatThrownBy(() -> Contract.read(folder)).hasMessageContaining("declared twice");
  }

  @Test
  void autoEntryPoint_withATypeThatCannotTravel_isRefused() throws IOException {
    write("", "cuX 2000 fenced auto\n    (const char *name)\n");

    assertThatThrownBy(() -> Contract.read(folder)).hasMessageContaining("cannot be marshalled");
  }

  @Test
  void autoEntryPoint_withADeviceAddressOfNoLength_isRefused() throws IOException {
    write("", "cuX 2000 posted auto backend\n    (CUdeviceptr target, size_t bytes)\n");

    assertThatThrownBy(() -> Contract.read(folder)).hasMessageContaining("device(LENGTH)");
  }

  @Test
  void autoEntryPoint_withAStructOrARawHandle_isRefused() throws IOException {
    for (String parameter : List.of("const CUDA_X *x", "CUtexObject x", "size_t *x", "void *x")) {
      write("", "cuX 2000 fenced auto backend\n    (" + parameter + ")\n");

      assertThatThrownBy(() -> Contract.read(folder))
          .as(parameter)
          .hasMessageContaining("cannot be marshalled");
    }
  }

  @Test
  void localAutoEntryPoint_withoutSteps_isRefused() throws IOException {
    write("", "cuX 2000 local auto\n    (int *x)\n");

    assertThatThrownBy(() -> Contract.read(folder))
        .isInstanceOf(ContractException.class)
        .hasMessageContaining("topic.contract:1: cuX: steps go with auto");
  }

  @Test
  void lineBelowAnEntryPoint_thatIsNoStep_isRefusedWithFileAndLine() throws IOException {
    write("", "cuX 2000 local auto\n    (int *x)\n    need x\n    give y = 1\n");

    assertThatThrownBy(() -> Contract.read(folder))
        .isInstanceOf(ContractException.class)
        .hasMessageContaining("topic.contract:4: no pointer of that name: give y = 1");
  }

  @Test
  void op_withInputBytesOfNoKind_isRefused() throws IOException {
    write("topic t\nop one posted (in bytes nodes)\n", "");

    assertThatThrownBy(() -> Contract.read(folder))
        .isInstanceOf(ContractException.class)
        .hasMessageContaining("ops.txt:2: input bytes are data, text or struct");
  }

  private void write(String ops, String topic) throws IOException {
    Files.writeString(folder.resolve("types.txt"), "");
    Files.writeString(folder.resolve("finders.txt"), "");
    Files.writeString(folder.resolve("wire.txt"), "");
    Files.writeString(folder.resolve("results.txt"), "");
    Files.writeString(folder.resolve("ops.txt"), ops);
    Files.writeString(folder.resolve("topic.contract"), topic);
  }
}
