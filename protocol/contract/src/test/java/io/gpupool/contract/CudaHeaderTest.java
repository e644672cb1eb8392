// SPDX-License-Identifier: Apache-2.0
package io.gpupool.contract;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Compares the description with NVIDIA's own header, where a CUDA 13.0 toolkit is installed. */
class CudaHeaderTest {
  private static final Pattern DECLARATION =
      Pattern.compile("CUresult\\s+CUDAAPI\\s+(\\w+)\\s*\\((.*?)\\)\\s*;", Pattern.DOTALL);
  private static final Pattern RENAMED =
      Pattern.compile("#define\\s+(cu\\w+)\\s+(?:__CUDA_API_PT\\w\\w\\()?(cu\\w+)");

  private String header;
  private Contract contract;

  @BeforeEach
  void readHeader() throws IOException {
    String home = System.getenv().getOrDefault("CUDA_HOME", "/usr/local/cuda");
    Path file = Path.of(home, "include", "cuda.h");
    assumeTrue(Files.exists(file), "no CUDA toolkit: cuda.h is not compared with the description");
    header = Files.readString(file).replaceAll("(?s)/\\*.*?\\*/", " ").replaceAll("(?m)//.*$", "");
    assumeTrue(header.contains("CUDA_VERSION 13000"), "the CUDA toolkit is not 13.0");
    contract = Contract.read(ContractTest.FOLDER);
  }

  @Test
  void everyDeclaration_ofTheHeader_isDescribed() {
    Set<String> described = new LinkedHashSet<>();
    for (EntryPoint entryPoint : contract.entryPoints()) {
      described.add(entryPoint.symbol());
      if (entryPoint.perThread() != null) {
        described.add(entryPoint.symbol() + entryPoint.perThread());
      }
    }
    Set<String> declared = new LinkedHashSet<>();
    Matcher declaration = DECLARATION.matcher(header);
    while (declaration.find()) {
      declared.add(declaration.group(1));
    }
    Matcher renamed = RENAMED.matcher(header);
    while (renamed.find()) {
      declared.add(renamed.group(2));
    }
    declared.remove("cuGetProcAddress_v2_ptsz"); // an inline function of the header itself

    assertThat(declared).hasSizeGreaterThan(500);
    assertThat(described).containsAll(declared);
  }

  @Test
  void parameters_ofEveryEntryPoint_areTheHeaders() {
    Map<String, Set<String>> declared = new HashMap<>();
    Matcher declaration = DECLARATION.matcher(header);
    while (declaration.find()) {
      String parameters = declaration.group(2).replaceAll("\\s+", " ").strip();
      declared
          .computeIfAbsent(declaration.group(1), name -> new LinkedHashSet<>())
          .add(parameters.equals("void") ? "" : parameters);
    }
    int compared = 0;
    for (EntryPoint entryPoint : contract.entryPoints()) {
      Set<String> candidates = new LinkedHashSet<>();
      for (String name : List.of(entryPoint.symbol(), entryPoint.procName())) {
        candidates.addAll(declared.getOrDefault(name, Set.of()));
      }
      if (candidates.isEmpty()) {
        continue; // declared in another header
      }
      String described =
          String.join(", ", entryPoint.parameters().stream().map(Parameter::declaration).toList());
      assertThat(candidates).as(entryPoint.symbol()).contains(described);
      compared++;
    }
    assertThat(compared).isGreaterThan(500);
  }
}
