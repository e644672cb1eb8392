// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.ptx.parse;

import io.gpupool.soft.ptx.Operand;
import io.gpupool.soft.ptx.PtxException;
import io.gpupool.soft.ptx.Relocation;
import io.gpupool.soft.ptx.Type;
import io.gpupool.soft.ptx.parse.Token.Kind;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** Parser of a variable's initial value into little-endian bytes and relocations. */
final class Initializer {
  private static final int MAX_BYTES = 1 << 30;

  private final Lexer lexer;
  private final Declaration declaration;
  private final List<Relocation> relocations = new ArrayList<>();
  private byte[] bytes = new byte[64];
  private int used;

  Initializer(Lexer lexer, Declaration declaration) {
    this.lexer = lexer;
    this.declaration = declaration;
  }

  /** Parses what follows {@code =}. */
  void parse() throws PtxException {
    List<Long> shape = new ArrayList<>(declaration.dimensions());
    if (declaration.vector() > 1) {
      shape.add((long) declaration.vector());
    }
    if (lexer.peek().is("{")) {
      braces(shape, 0);
    } else {
      element(0);
    }
  }

  byte[] bytes() {
    return Arrays.copyOf(bytes, used);
  }

  List<Relocation> relocations() {
    return relocations;
  }

  /** Parses one brace level; returns the number of its items. */
  private void braces(List<Long> shape, long offset) throws PtxException {
    Token open = lexer.peek();
    Tokens.expect(lexer, "{");
    long stride = declaration.type().bytes();
    for (int i = 1; i < shape.size(); i++) {
      stride *= shape.get(i);
    }
    List<Long> inner = shape.isEmpty() ? shape : shape.subList(1, shape.size());
    long limit = shape.isEmpty() ? 1 : shape.get(0);
    long count = 0;
    long at = offset;
    if (!lexer.peek().is("}")) {
      do {
        boolean nested = lexer.peek().is("{");
        if (nested && shape.isEmpty()) {
          throw Tokens.unexpected(lexer.peek());
        }
        if (nested) {
          braces(inner, at);
          at += stride;
          count++;
        } else {
          element(at);
          at += declaration.type().bytes();
          count = (at - offset + stride - 1) / Math.max(1, stride);
        }
        if (limit != 0 && count > limit) {
          throw Tokens.error(
              open, "Too many initial values for '" + declaration.name().text() + "'");
        }
      } while (Tokens.accept(lexer, ","));
    }
    Tokens.expect(lexer, "}");
  }

  private void element(long offset) throws PtxException {
    Token first = lexer.peek();
    int width = declaration.type().bytes();
    if (first.kind() == Kind.WORD && !first.text().equals("WARP_SZ")) {
      put(first, offset, 0, width);
      symbol(offset, width);
      return;
    }
    if (first.kind() == Kind.INTEGER && lexer.peekSecond().is("(")) {
      mask(offset);
      return;
    }
    Operand value = new ConstantExpression(lexer).parse();
    put(first, offset, bitsOf(value), width);
  }

  private long bitsOf(Operand value) {
    Type type = declaration.type();
    return switch (value) {
      case Operand.Real real ->
          type.bits() == 64
              ? real.doubleBits()
              : type.bits() == 16
                  ? Float.floatToFloat16(Float.intBitsToFloat(real.singleBits()))
                  : real.singleBits();
      case Operand.Int integer ->
          type == Type.F32
              ? Float.floatToRawIntBits(integer.value())
              : type == Type.F64 ? Double.doubleToRawLongBits(integer.value()) : integer.value();
      default -> throw new IllegalStateException("not a constant: " + value);
    };
  }

  /** {@code 0xFF00(symbol)}: one byte of an address; the eight of them make one relocation. */
  private void mask(long offset) throws PtxException {
    Token mask = lexer.next();
    Tokens.expect(lexer, "(");
    put(mask, offset, 0, declaration.type().bytes());
    if (mask.value() == 0xFF) {
      symbol(offset, 8);
    } else {
      int before = relocations.size();
      symbol(offset, 8);
      relocations.subList(before, relocations.size()).clear();
    }
    Tokens.expect(lexer, ")");
  }

  private void symbol(long offset, int width) throws PtxException {
    Token name = Tokens.word(lexer);
    if (width != 8) {
      throw Tokens.error(name, "An address needs an element of 8 bytes");
    }
    if (name.text().equals("generic") && Tokens.accept(lexer, "(")) {
      name = Tokens.word(lexer);
      long addend = addend();
      Tokens.expect(lexer, ")");
      relocations.add(new Relocation((int) offset, name.text(), addend + addend()));
      return;
    }
    relocations.add(new Relocation((int) offset, name.text(), addend()));
  }

  private long addend() throws PtxException {
    if (lexer.peek().is("+") || lexer.peek().is("-")) {
      boolean negative = lexer.next().is("-");
      long value = new ConstantExpression(lexer).integer();
      return negative ? -value : value;
    }
    return 0;
  }

  private void put(Token where, long offset, long value, int width) throws PtxException {
    long end = offset + width;
    if (end > MAX_BYTES) {
      throw Tokens.error(where, "Initial value too large");
    }
    if (end > bytes.length) {
      bytes = Arrays.copyOf(bytes, (int) Math.min(MAX_BYTES, Math.max(end, bytes.length * 2L)));
    }
    used = (int) Math.max(used, end);
    for (int i = 0; i < width; i++) {
      bytes[(int) offset + i] = (byte) (value >>> (8 * i));
    }
  }
}
