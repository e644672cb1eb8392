// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.ptx.parse;

import io.gpupool.soft.ptx.PtxException;
import io.gpupool.soft.ptx.parse.Token.Kind;

/** Common steps of the parsers. */
final class Tokens {
  private Tokens() {}

  static PtxException unexpected(Token token) {
    String problem =
        token.kind() == Kind.END
            ? "Unexpected end of file"
            : "Parsing error near '" + token.text() + "': syntax error";
    return new PtxException(token.line(), token.column(), problem);
  }

  static void expect(Lexer lexer, String symbol) throws PtxException {
    Token token = lexer.next();
    if (!token.is(symbol)) {
      throw unexpected(token);
    }
  }

  static boolean accept(Lexer lexer, String symbol) throws PtxException {
    if (lexer.peek().is(symbol)) {
      lexer.next();
      return true;
    }
    return false;
  }

  static Token word(Lexer lexer) throws PtxException {
    Token token = lexer.next();
    if (token.kind() != Kind.WORD) {
      throw unexpected(token);
    }
    return token;
  }

  /** An unsigned integer constant not above a bound. */
  static long integer(Lexer lexer, long max) throws PtxException {
    Token token = lexer.next();
    if (token.kind() != Kind.INTEGER) {
      throw unexpected(token);
    }
    if (token.value() < 0 || token.value() > max) {
      throw new PtxException(
          token.line(), token.column(), "Value out of range: '" + token.text() + "'");
    }
    return token.value();
  }

  static PtxException error(Token where, String problem) {
    return new PtxException(where.line(), where.column(), problem);
  }

  /** Skips tokens up to a symbol, and the symbol. */
  static void skipTo(Lexer lexer, String symbol) throws PtxException {
    while (!lexer.peek().is(symbol)) {
      if (lexer.next().kind() == Kind.END) {
        throw unexpected(lexer.peek());
      }
    }
    lexer.next();
  }
}
