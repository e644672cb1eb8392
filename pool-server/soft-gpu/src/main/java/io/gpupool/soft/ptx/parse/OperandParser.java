// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.ptx.parse;

import io.gpupool.soft.ptx.Function;
import io.gpupool.soft.ptx.Operand;
import io.gpupool.soft.ptx.PtxException;
import io.gpupool.soft.ptx.Register;
import io.gpupool.soft.ptx.SpecialRegisters;
import io.gpupool.soft.ptx.Variable;
import io.gpupool.soft.ptx.parse.Token.Kind;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** Parser of instruction operands, which resolves the names in them. */
final class OperandParser {
  private static final int MAX_DEPTH = 16;

  private final Lexer lexer;

  @SuppressWarnings("NullAway.Init")
  private Scope scope;

  private int depth;

  OperandParser(Lexer lexer) {
    this.lexer = lexer;
  }

  void enter(Scope inner) {
    scope = inner;
  }

  /** Parses one operand, {@code a|b} included. */
  Operand operand() throws PtxException {
    if (++depth > MAX_DEPTH) {
      throw Tokens.error(lexer.peek(), "Operand nested too deeply");
    }
    Operand first = single();
    if (Tokens.accept(lexer, "|")) {
      first = new Operand.Pair(first, single());
    }
    depth--;
    return first;
  }

  /** Parses {@code (a, b)} of a call. */
  Operand.Vector parenthesised() throws PtxException {
    return list("(", ")");
  }

  private Operand single() throws PtxException {
    Token token = lexer.peek();
    if (token.is("[")) {
      return memory();
    }
    if (token.is("{")) {
      return list("{", "}");
    }
    if (token.is("!")) {
      lexer.next();
      Token name = Tokens.word(lexer);
      if (named(name) instanceof Operand.Reg reg) {
        return new Operand.Not(reg.register());
      }
      throw Tokens.unexpected(name);
    }
    if (ConstantExpression.starts(token)) {
      return new ConstantExpression(lexer).parse();
    }
    if (token.kind() != Kind.WORD) {
      throw Tokens.unexpected(token);
    }
    lexer.next();
    Operand operand = token.text().equals("_") ? new Operand.Sink() : named(token);
    if (operand instanceof Operand.Address address) {
      return new Operand.Address(address.variable(), address.offset() + offset());
    }
    return operand;
  }

  private Operand.Vector list(String open, String close) throws PtxException {
    Tokens.expect(lexer, open);
    List<Operand> elements = new ArrayList<>();
    if (!lexer.peek().is(close)) {
      do {
        elements.add(operand());
      } while (Tokens.accept(lexer, ","));
    }
    Tokens.expect(lexer, close);
    return new Operand.Vector(List.copyOf(elements));
  }

  private Operand memory() throws PtxException {
    Tokens.expect(lexer, "[");
    Operand base = operand();
    long offset = base instanceof Operand.Reg ? offset() : 0;
    Operand.Memory memory = new Operand.Memory(base, offset);
    if (!lexer.peek().is(",")) {
      Tokens.expect(lexer, "]");
      return memory;
    }
    // Coordinates and the like of texture, surface and tensor instructions.
    List<Operand> parts = new ArrayList<>(List.of(memory));
    while (Tokens.accept(lexer, ",")) {
      parts.add(operand());
    }
    Tokens.expect(lexer, "]");
    return new Operand.Vector(List.copyOf(parts));
  }

  private long offset() throws PtxException {
    if (lexer.peek().is("+")) {
      lexer.next();
      return new ConstantExpression(lexer).integer();
    }
    return lexer.peek().is("-") ? new ConstantExpression(lexer).integer() : 0;
  }

  /** Resolves a name; one that is no variable is taken for a label, to be checked later. */
  private Operand named(Token token) throws PtxException {
    String name = token.text();
    if (name.charAt(0) == '%') {
      Optional<Operand> special = special(name);
      if (special.isPresent()) {
        return special.get();
      }
    }
    Object meaning = scope.find(name);
    return switch (meaning) {
      case Register register -> part(register);
      case Variable variable -> new Operand.Address(variable, 0);
      case Function function -> new Operand.FunctionAddress(function.name());
      case Scope.VectorRegister vector -> element(token, vector);
      case null, default -> {
        if (name.charAt(0) == '%') {
          throw Tokens.error(token, "Unknown symbol '" + name + "'");
        }
        yield new Operand.Target(scope.referToLabel(token));
      }
    };
  }

  private Operand part(Register register) throws PtxException {
    boolean selected =
        lexer.peek().kind() == Kind.DOTTED && lexer.peek().text().matches("\\.[bh][0-7]{1,4}");
    return selected
        ? new Operand.Part(register, lexer.next().text().substring(1))
        : new Operand.Reg(register);
  }

  private Optional<Operand> special(String name) throws PtxException {
    String full = name;
    if (lexer.peek().kind() == Kind.DOTTED
        && SpecialRegisters.typeOf(name + lexer.peek().text()).isPresent()) {
      full = name + lexer.next().text();
    }
    return SpecialRegisters.typeOf(full).isPresent() && scope.find(name) == null
        ? Optional.of(new Operand.Special(full))
        : Optional.empty();
  }

  private Operand element(Token name, Scope.VectorRegister vector) throws PtxException {
    if (lexer.peek().kind() != Kind.DOTTED) {
      List<Operand> all = new ArrayList<>();
      vector.elements().forEach(register -> all.add(new Operand.Reg(register)));
      return new Operand.Vector(List.copyOf(all));
    }
    String letter = lexer.next().text();
    int index = letter.length() == 2 ? "xyzw".indexOf(letter.charAt(1)) : -1;
    if (index < 0 && letter.length() == 2) {
      index = "rgba".indexOf(letter.charAt(1));
    }
    if (index < 0 || index >= vector.elements().size()) {
      throw Tokens.error(name, "No element '" + letter + "' in vector '" + name.text() + "'");
    }
    return new Operand.Reg(vector.elements().get(index));
  }
}
