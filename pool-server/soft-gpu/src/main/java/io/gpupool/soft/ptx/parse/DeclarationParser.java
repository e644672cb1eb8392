// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.ptx.parse;

import io.gpupool.soft.ptx.PtxException;
import io.gpupool.soft.ptx.Type;
import io.gpupool.soft.ptx.VariableKind;
import io.gpupool.soft.ptx.parse.Token.Kind;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * Parser of the part of a declaration after the state space: alignment, type, names, dimensions.
 */
final class DeclarationParser {
  private static final long MAX_ALIGN = 1L << 20;
  private static final int MAX_DIMENSIONS = 32;

  private final Lexer lexer;

  DeclarationParser(Lexer lexer) {
    this.lexer = lexer;
  }

  /** Parses one declaration with a single name. */
  Declaration one() throws PtxException {
    return many(false).get(0);
  }

  /** Parses {@code .align A .v4 .type a, b[3]}. */
  List<Declaration> list() throws PtxException {
    return many(true);
  }

  private List<Declaration> many(boolean several) throws PtxException {
    Type type = null;
    VariableKind kind = VariableKind.DATA;
    int vector = 1;
    int align = 0;
    while (lexer.peek().kind() == Kind.DOTTED) {
      Token token = lexer.next();
      switch (token.text()) {
        case ".align" -> align = alignment();
        case ".v2" -> vector = 2;
        case ".v4" -> vector = 4;
        case ".v8" -> vector = 8;
        case ".attribute" -> skipParentheses();
        // .ptr and the space of a pointer parameter tell the optimiser something, not us
        case ".ptr", ".global", ".const", ".shared", ".local", ".param" -> {}
        default -> {
          kind = VariableKind.of(token.text());
          type = kind == VariableKind.DATA ? typeOf(token) : Type.U64;
        }
      }
    }
    if (type == null) {
      throw Tokens.unexpected(lexer.peek());
    }
    List<Declaration> declarations = new ArrayList<>();
    do {
      declarations.add(named(type, kind, vector, align));
    } while (several && Tokens.accept(lexer, ","));
    return declarations;
  }

  private static Type typeOf(Token token) throws PtxException {
    Optional<Type> type = Type.named(token.text().substring(1));
    return type.orElseThrow(() -> Tokens.unexpected(token));
  }

  private int alignment() throws PtxException {
    Token where = lexer.peek();
    long align = Tokens.integer(lexer, MAX_ALIGN);
    if (Long.bitCount(align) != 1) {
      throw Tokens.error(where, "Alignment must be a power of two");
    }
    return (int) align;
  }

  private Declaration named(Type type, VariableKind kind, int vector, int align)
      throws PtxException {
    Token name = Tokens.word(lexer);
    int natural = type.bytes() * vector;
    int actual = align == 0 ? natural : align;
    if (Tokens.accept(lexer, "<")) {
      long count = Tokens.integer(lexer, 1L << 30);
      Tokens.expect(lexer, ">");
      return new Declaration(name, type, kind, vector, actual, List.of(), count);
    }
    List<Long> dimensions = new ArrayList<>();
    while (Tokens.accept(lexer, "[")) {
      if (Tokens.accept(lexer, "]")) {
        dimensions.add(0L);
        continue;
      }
      Token where = lexer.peek();
      long length = new ConstantExpression(lexer).integer();
      if (length < 0 || dimensions.size() >= MAX_DIMENSIONS) {
        throw Tokens.error(where, "Illegal array dimension");
      }
      dimensions.add(length);
      Tokens.expect(lexer, "]");
    }
    return new Declaration(name, type, kind, vector, actual, dimensions, -1);
  }

  private void skipParentheses() throws PtxException {
    Tokens.expect(lexer, "(");
    while (!Tokens.accept(lexer, ")")) {
      if (lexer.next().kind() == Kind.END) {
        throw Tokens.unexpected(lexer.peek());
      }
    }
  }
}
