// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.ptx.parse;

/**
 * A lexical element.
 *
 * @param text as written; for strings without the quotes
 * @param value of an integer, or the bits of a floating constant as a double
 */
record Token(Kind kind, String text, long value, int line, int column) {
  enum Kind {
    /** Name, opcode or {@code %register}. */
    WORD,
    /** {@code .name}: directive or modifier. */
    DOTTED,
    INTEGER,
    SINGLE,
    DOUBLE,
    STRING,
    SYMBOL,
    END
  }

  boolean is(String symbol) {
    return (kind == Kind.SYMBOL || kind == Kind.DOTTED) && text.equals(symbol);
  }
}
