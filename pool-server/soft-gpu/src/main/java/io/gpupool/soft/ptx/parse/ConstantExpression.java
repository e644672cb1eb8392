// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.ptx.parse;

import io.gpupool.soft.ptx.Operand;
import io.gpupool.soft.ptx.PtxException;
import io.gpupool.soft.ptx.parse.Token.Kind;
import java.util.List;

/** Parser and evaluator of constant expressions: 64-bit integers, and floating constants alone. */
final class ConstantExpression {
  private static final int MAX_DEPTH = 200;

  /** Binary operators, loosest first. */
  private static final List<List<String>> LEVELS =
      List.of(
          List.of("||"),
          List.of("&&"),
          List.of("|"),
          List.of("^"),
          List.of("&"),
          List.of("==", "!="),
          List.of("<", "<=", ">", ">="),
          List.of("<<", ">>"),
          List.of("+", "-"),
          List.of("*", "/", "%"));

  private final Lexer lexer;
  private int depth;

  ConstantExpression(Lexer lexer) {
    this.lexer = lexer;
  }

  /** Whether the next token can begin a constant. */
  static boolean starts(Token token) {
    return switch (token.kind()) {
      case INTEGER, SINGLE, DOUBLE -> true;
      case SYMBOL ->
          token.text().equals("-")
              || token.text().equals("+")
              || token.text().equals("~")
              || token.text().equals("(");
      case WORD -> token.text().equals("WARP_SZ");
      case DOTTED, STRING, END -> false;
    };
  }

  /** Parses an {@link Operand.Int} or {@link Operand.Real}. */
  Operand parse() throws PtxException {
    Token first = lexer.peek();
    boolean negative = false;
    if (first.is("-") || first.is("+")) {
      Kind after = lexer.peekSecond().kind();
      if (after == Kind.SINGLE || after == Kind.DOUBLE) {
        negative = first.is("-");
        lexer.next();
        first = lexer.peek();
      }
    }
    if (first.kind() == Kind.SINGLE || first.kind() == Kind.DOUBLE) {
      lexer.next();
      boolean single = first.kind() == Kind.SINGLE;
      long sign = single ? 0x8000_0000L : Long.MIN_VALUE;
      return new Operand.Real(single, negative ? first.value() ^ sign : first.value());
    }
    return new Operand.Int(integer());
  }

  /** Parses an integer expression. */
  long integer() throws PtxException {
    long condition = level(0);
    if (!lexer.peek().is("?")) {
      return condition;
    }
    enter();
    lexer.next();
    long whenTrue = integer();
    Tokens.expect(lexer, ":");
    long whenFalse = integer();
    depth--;
    return condition != 0 ? whenTrue : whenFalse;
  }

  private long level(int level) throws PtxException {
    if (level == LEVELS.size()) {
      return unary();
    }
    long left = level(level + 1);
    while (lexer.peek().kind() == Kind.SYMBOL && LEVELS.get(level).contains(lexer.peek().text())) {
      Token operator = lexer.next();
      left = apply(operator, left, level(level + 1));
    }
    return left;
  }

  private static long apply(Token operator, long a, long b) throws PtxException {
    return switch (operator.text()) {
      case "||" -> a != 0 || b != 0 ? 1 : 0;
      case "&&" -> a != 0 && b != 0 ? 1 : 0;
      case "|" -> a | b;
      case "^" -> a ^ b;
      case "&" -> a & b;
      case "==" -> a == b ? 1 : 0;
      case "!=" -> a != b ? 1 : 0;
      case "<" -> a < b ? 1 : 0;
      case "<=" -> a <= b ? 1 : 0;
      case ">" -> a > b ? 1 : 0;
      case ">=" -> a >= b ? 1 : 0;
      case "<<" -> b < 0 || b > 63 ? 0 : a << b;
      case ">>" -> a >> Math.clamp(b, 0, 63);
      case "+" -> a + b;
      case "-" -> a - b;
      case "*" -> a * b;
      default -> {
        if (b == 0) {
          throw new PtxException(
              operator.line(), operator.column(), "Division by zero in constant expression");
        }
        yield operator.is("/") ? a / b : a % b;
      }
    };
  }

  private long unary() throws PtxException {
    Token token = lexer.next();
    if (token.kind() == Kind.INTEGER) {
      return token.value();
    }
    if (token.kind() == Kind.WORD && token.text().equals("WARP_SZ")) {
      return 32;
    }
    enter();
    long value =
        switch (token.kind() == Kind.SYMBOL ? token.text() : "") {
          case "-" -> -unary();
          case "+" -> unary();
          case "~" -> ~unary();
          case "!" -> unary() == 0 ? 1 : 0;
          case "(" -> parenthesised();
          default -> throw Tokens.unexpected(token);
        };
    depth--;
    return value;
  }

  private long parenthesised() throws PtxException {
    Token second = lexer.peek();
    if (second.kind() == Kind.DOTTED) {
      // A cast such as (.u64); all arithmetic has 64 bits already.
      lexer.next();
      Tokens.expect(lexer, ")");
      return unary();
    }
    long value = integer();
    Tokens.expect(lexer, ")");
    return value;
  }

  private void enter() throws PtxException {
    if (++depth > MAX_DEPTH) {
      Token token = lexer.peek();
      throw new PtxException(token.line(), token.column(), "Constant expression nested too deeply");
    }
  }
}
