// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.ptx.module;

import io.gpupool.soft.ptx.Function;
import io.gpupool.soft.ptx.GlobalVariable;
import io.gpupool.soft.ptx.Linkage;
import io.gpupool.soft.ptx.PtxException;
import io.gpupool.soft.ptx.parse.ModuleParser;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;

/** One parsed translation unit that may still name what other units define; immutable. */
public final class PtxUnit {
  private final String text;
  private final int computeCapability;
  private final ModuleParser parsed;

  private PtxUnit(String text, int computeCapability, Map<String, String> renames)
      throws PtxException {
    this.text = text;
    this.computeCapability = computeCapability;
    parsed = new ModuleParser(text, computeCapability, renames);
    parsed.parse();
  }

  /**
   * Parses PTX text.
   *
   * @param computeCapability of the device, 10 * major + minor; a higher {@code .target} is refused
   * @throws PtxException on the first error
   */
  public static PtxUnit parse(String text, int computeCapability) throws PtxException {
    return new PtxUnit(text, computeCapability, Map.of());
  }

  /** The text that it was parsed from. */
  public String text() {
    return text;
  }

  byte[] digest() {
    MessageDigest sha256 = PtxModule.sha256();
    sha256.update((byte) computeCapability);
    return sha256.digest(text.getBytes(StandardCharsets.UTF_8));
  }

  ModuleParser parsed() {
    return parsed;
  }

  /** The same unit with other names for some of its own symbols. */
  PtxUnit renamed(Map<String, String> renames) throws PtxException {
    return renames.isEmpty() ? this : new PtxUnit(text, computeCapability, renames);
  }

  /** Names that only this unit sees; kernels are not among them, since hosts ask for kernels. */
  Set<String> localNames() {
    Set<String> names = new HashSet<>();
    for (Function function : parsed.functions().values()) {
      if (function.linkage() == Linkage.LOCAL && function.defined() && !function.entry()) {
        names.add(function.name());
      }
    }
    for (GlobalVariable global : parsed.globals().values()) {
      if (global.linkage() == Linkage.LOCAL) {
        names.add(global.name());
      }
    }
    return names;
  }

  /** All names that this unit declares or defines. */
  Set<String> names() {
    Set<String> names = new HashSet<>(parsed.functions().keySet());
    names.addAll(parsed.globals().keySet());
    names.addAll(parsed.aliases().keySet());
    return names;
  }
}
