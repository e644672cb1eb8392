// SPDX-License-Identifier: Apache-2.0
package io.gpupool.contract;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class BackendPartsTest {
  @TempDir Path folder;

  @Test
  void parts_ofThisProject_holdEveryEntryPointOfTheBackendOnce() throws IOException {
    Contract contract = Contract.read(ContractTest.FOLDER);

    Map<String, List<EntryPoint>> parts =
        BackendParts.read(ContractTest.FOLDER.resolve("parts.txt")).of(contract);

    assertThat(parts.values().stream().flatMap(List::stream))
        .containsExactlyInAnyOrderElementsOf(
            contract.entryPoints().stream().filter(EntryPoint::backend).toList());
    assertThat(parts).containsKeys("memory", "memory-pool", "ipc").doesNotContainKey("tools");
    assertThat(parts.get("ipc"))
        .extracting(EntryPoint::symbol)
        .contains("cuMemPoolExportPointer")
        .doesNotContain("cuMemPoolCreate");
  }

  @Test
  void name_ofNoEntryPointOfTheBackend_isRefused() throws IOException {
    Contract contract = Contract.read(ContractTest.FOLDER);
    BackendParts parts = BackendParts.read(write("peer: cuNothing*\n"));

    assertThatThrownBy(() -> parts.of(contract)).hasMessage("the backend has no cuNothing*");
  }

  @Test
  void line_withoutAPart_isRefusedWithFileAndLine() throws IOException {
    Path file = write("# parts\ncuTexRef*\n");

    assertThatThrownBy(() -> BackendParts.read(file))
        .isInstanceOf(ContractException.class)
        .hasMessageContaining("parts.txt:2: expected: part: entry points");
  }

  private Path write(String text) throws IOException {
    return Files.writeString(folder.resolve("parts.txt"), text);
  }
}
