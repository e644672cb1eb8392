// SPDX-License-Identifier: Apache-2.0
package io.gpupool.contract;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** The parts into which a composed backend's driver calls are divided, read from parts.txt. */
final class BackendParts {
  private record Rule(String part, String pattern) {
    boolean fits(String symbol) {
      return pattern.endsWith("*")
          ? symbol.startsWith(pattern.substring(0, pattern.length() - 1))
          : symbol.equals(pattern);
    }
  }

  private final List<Rule> rules;

  private BackendParts(List<Rule> rules) {
    this.rules = rules;
  }

  static BackendParts read(Path file) throws IOException {
    List<Rule> rules = new ArrayList<>();
    List<String> lines = Files.readAllLines(file);
    for (int i = 0; i < lines.size(); i++) {
      String line = lines.get(i).strip();
      if (line.isEmpty() || line.startsWith("#")) {
        continue;
      }
      int colon = line.indexOf(':');
      if (colon < 1) {
        throw new ContractException(file.toString(), i + 1, "expected: part: entry points");
      }
      for (String pattern : line.substring(colon + 1).strip().split("\\s+")) {
        rules.add(new Rule(line.substring(0, colon), pattern));
      }
    }
    return new BackendParts(rules);
  }

  /**
   * Returns the backend's entry points by part.
   *
   * @throws IllegalArgumentException if a rule fits none of them
   */
  Map<String, List<EntryPoint>> of(Contract contract) {
    for (Rule rule : rules) {
      if (contract.entryPoints().stream()
          .noneMatch(entryPoint -> entryPoint.backend() && rule.fits(entryPoint.symbol()))) {
        throw new IllegalArgumentException("the backend has no " + rule.pattern());
      }
    }
    Map<String, List<EntryPoint>> parts = new TreeMap<>();
    for (EntryPoint entryPoint : contract.entryPoints()) {
      if (entryPoint.backend()) {
        parts.computeIfAbsent(partOf(entryPoint), part -> new ArrayList<>()).add(entryPoint);
      }
    }
    return parts;
  }

  private String partOf(EntryPoint entryPoint) {
    return rules.stream()
        .filter(rule -> rule.fits(entryPoint.symbol()))
        .map(Rule::part)
        .findFirst()
        .orElse(entryPoint.topic());
  }
}
