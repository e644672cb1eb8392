// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.image;

import java.util.Set;

/** The places of machine code that name functions, as relocations of an ELF file tell of them. */
final class CubinCalls {
  static final int SECTION_RELA = 4;
  static final int SECTION_REL = 9;

  private static final int RELA_BYTES = 24;
  private static final int REL_BYTES = 16;

  /**
   * The relocations of direct calls: of sm_75 to sm_89, and of later ones, as ptxas writes them.
   */
  private static final Set<Long> CALLS = Set.of(0x3aL, 0x4bL);

  private CubinCalls() {}

  /** The functions that the file defines. */
  interface Functions {
    /** Returns whether a symbol is one of them, and not of this name. */
    boolean defines(long symbol, String otherThan);
  }

  /** Returns whether a section of relocations is of code or data that a GPU has. */
  static boolean isOfImage(String name) {
    return target(name).startsWith("text.") || target(name).startsWith("nv.");
  }

  /**
   * Returns whether one of its relocations takes a function's address. What a function says of
   * itself is where its calls return to.
   */
  static boolean takesAddress(String name, int type, Bytes content, Functions functions) {
    int entryBytes = type == SECTION_RELA ? RELA_BYTES : REL_BYTES;
    String own = target(name).substring(target(name).lastIndexOf('.') + 1);
    for (long at = 0; at + entryBytes <= content.length(); at += entryBytes) {
      boolean isCall = CALLS.contains(content.u32(at + 8));
      if (!isCall && functions.defines(content.u32(at + 12), own)) {
        return true;
      }
    }
    return false;
  }

  /** The name of the section that relocations are of, without its dot. */
  private static String target(String name) {
    return name.replaceFirst("^\\.rela?\\.", "");
  }
}
