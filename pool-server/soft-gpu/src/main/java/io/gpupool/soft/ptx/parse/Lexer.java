// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.ptx.parse;

import io.gpupool.soft.ptx.PtxException;
import io.gpupool.soft.ptx.parse.Token.Kind;
import org.jspecify.annotations.Nullable;

/** The lexer of PTX text, with one token of lookahead beyond the current. */
final class Lexer {
  private static final String[] SYMBOLS = {"<<", ">>", "<=", ">=", "==", "!=", "&&", "||", "@@"};

  private final String text;
  private int position;
  private int line = 1;
  private int lineStart;
  private Token current;
  private @Nullable Token ahead;

  Lexer(String text) throws PtxException {
    this.text = text;
    current = scan();
  }

  Token peek() {
    return current;
  }

  Token peekSecond() throws PtxException {
    if (ahead == null) {
      ahead = scan();
    }
    return ahead;
  }

  Token next() throws PtxException {
    Token token = current;
    if (ahead != null) {
      current = ahead;
      ahead = null;
    } else {
      current = scan();
    }
    return token;
  }

  private Token scan() throws PtxException {
    skipBlanks();
    int start = position;
    int column = start - lineStart + 1;
    if (start >= text.length()) {
      return new Token(Kind.END, "end of file", 0, line, column);
    }
    char c = text.charAt(start);
    if (isWordStart(c) || c == '%' && isWordPart(at(start + 1))) {
      position++;
      skipWord();
      return new Token(Kind.WORD, text.substring(start, position), 0, line, column);
    }
    if (c == '.' && (isWordPart(at(start + 1)))) {
      boolean glued = start > 0 && (isWordPart(text.charAt(start - 1)));
      if (glued || !isDigit(at(start + 1))) {
        return dotted(start, column);
      }
      return number(start, column);
    }
    if (isDigit(c)) {
      return number(start, column);
    }
    if (c == '"') {
      return string(start, column);
    }
    for (String symbol : SYMBOLS) {
      if (text.startsWith(symbol, start)) {
        position += 2;
        return new Token(Kind.SYMBOL, symbol, 0, line, column);
      }
    }
    if (",;:{}[]()+-*/%&|^~!<>?=@".indexOf(c) < 0) {
      throw new PtxException(line, column, "Parsing error near '" + printable(c) + "'");
    }
    position++;
    return new Token(Kind.SYMBOL, String.valueOf(c), 0, line, column);
  }

  private Token dotted(int start, int column) {
    position++;
    skipWord();
    while (at(position) == ':' && at(position + 1) == ':' && isWordPart(at(position + 2))) {
      position += 2;
      skipWord();
    }
    return new Token(Kind.DOTTED, text.substring(start, position), 0, line, column);
  }

  private void skipWord() {
    while (isWordPart(at(position))) {
      position++;
    }
  }

  private Token string(int start, int column) throws PtxException {
    position++;
    while (at(position) != '"') {
      if (position >= text.length() || at(position) == '\n') {
        throw new PtxException(line, column, "Unterminated string");
      }
      position++;
    }
    position++;
    return new Token(Kind.STRING, text.substring(start + 1, position - 1), 0, line, column);
  }

  private Token number(int start, int column) throws PtxException {
    char second = Character.toLowerCase(at(start + 1));
    if (text.charAt(start) == '0' && (second == 'f' || second == 'd')) {
      return realBits(start, column, second == 'f');
    }
    if (text.charAt(start) == '0' && (second == 'x' || second == 'b')) {
      position = start + 2;
      return integer(start, start + 2, second == 'x' ? 16 : 2, column);
    }
    position = start;
    while (isDigit(at(position))) {
      position++;
    }
    boolean exponent =
        Character.toLowerCase(at(position)) == 'e'
            && (isDigit(at(position + 1))
                || "+-".indexOf(at(position + 1)) >= 0 && isDigit(at(position + 2)));
    if (at(position) == '.' || exponent) {
      return decimalReal(start, column);
    }
    position = start;
    boolean octal = text.charAt(start) == '0' && isDigit(second);
    return integer(start, octal ? start + 1 : start, octal ? 8 : 10, column);
  }

  private Token decimalReal(int start, int column) throws PtxException {
    if (at(position) == '.') {
      position++;
      while (isDigit(at(position))) {
        position++;
      }
    }
    if (Character.toLowerCase(at(position)) == 'e') {
      position++;
      if (at(position) == '+' || at(position) == '-') {
        position++;
      }
      while (isDigit(at(position))) {
        position++;
      }
    }
    String digits = text.substring(start, position);
    try {
      long bits = Double.doubleToRawLongBits(Double.parseDouble(digits));
      return new Token(Kind.DOUBLE, digits, bits, line, column);
    } catch (NumberFormatException e) {
      throw new PtxException(line, column, "Illegal floating point constant '" + digits + "'");
    }
  }

  private Token realBits(int start, int column, boolean single) throws PtxException {
    int digits = single ? 8 : 16;
    position = start + 2;
    while (isWordPart(at(position))) {
      position++;
    }
    String hex = text.substring(start + 2, position);
    try {
      if (hex.length() == digits) {
        long bits = Long.parseUnsignedLong(hex, 16);
        if (single) {
          return new Token(Kind.SINGLE, text.substring(start, position), bits, line, column);
        }
        return new Token(Kind.DOUBLE, text.substring(start, position), bits, line, column);
      }
    } catch (NumberFormatException e) {
      // reported below
    }
    throw new PtxException(
        line, column, "Illegal floating point constant '" + text.substring(start, position) + "'");
  }

  private Token integer(int start, int digitsStart, int radix, int column) throws PtxException {
    position = digitsStart;
    while (Character.digit(at(position), radix) >= 0) {
      position++;
    }
    int digitsEnd = position;
    if (at(position) == 'U' || at(position) == 'u') {
      position++;
    }
    String digits = text.substring(digitsStart, digitsEnd);
    if (digits.isEmpty() || isWordPart(at(position))) {
      skipWord();
      throw new PtxException(
          line, column, "Illegal integer constant '" + text.substring(start, position) + "'");
    }
    try {
      long value = Long.parseUnsignedLong(digits, radix);
      return new Token(Kind.INTEGER, text.substring(start, position), value, line, column);
    } catch (NumberFormatException e) {
      throw new PtxException(
          line, column, "Integer constant too large '" + text.substring(start, position) + "'");
    }
  }

  private void skipBlanks() throws PtxException {
    while (position < text.length()) {
      char c = text.charAt(position);
      if (c == '\n') {
        position++;
        line++;
        lineStart = position;
      } else if (c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == 0) {
        position++;
      } else if (c == '/' && at(position + 1) == '/') {
        skipLine();
      } else if (c == '#' && text.substring(lineStart, position).isBlank()) {
        skipLine();
      } else if (c == '/' && at(position + 1) == '*') {
        skipComment();
      } else {
        return;
      }
    }
  }

  private void skipLine() {
    while (position < text.length() && text.charAt(position) != '\n') {
      position++;
    }
  }

  private void skipComment() throws PtxException {
    int end = text.indexOf("*/", position + 2);
    if (end < 0) {
      throw new PtxException(line, position - lineStart + 1, "Unterminated comment");
    }
    for (int i = position; i < end; i++) {
      if (text.charAt(i) == '\n') {
        line++;
        lineStart = i + 1;
      }
    }
    position = end + 2;
  }

  private char at(int index) {
    return index < text.length() ? text.charAt(index) : '\0';
  }

  private static boolean isDigit(char c) {
    return c >= '0' && c <= '9';
  }

  private static boolean isWordStart(char c) {
    return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c == '$';
  }

  private static boolean isWordPart(char c) {
    return isWordStart(c) || isDigit(c);
  }

  private static String printable(char c) {
    return c >= ' ' && c < 127 ? String.valueOf(c) : "\\u" + Integer.toHexString(c);
  }
}
