// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.ptx.parse;

import static java.util.Objects.requireNonNull;

import io.gpupool.soft.ptx.Label;
import io.gpupool.soft.ptx.Linkage;
import io.gpupool.soft.ptx.Operand;
import io.gpupool.soft.ptx.PtxException;
import io.gpupool.soft.ptx.Register;
import io.gpupool.soft.ptx.Space;
import io.gpupool.soft.ptx.Statement;
import io.gpupool.soft.ptx.Statement.Guard;
import io.gpupool.soft.ptx.Statement.Instruction;
import io.gpupool.soft.ptx.Type;
import io.gpupool.soft.ptx.Variable;
import io.gpupool.soft.ptx.parse.Token.Kind;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Parser of a function's body into statements with all names resolved. */
final class BodyParser {
  private static final int MAX_SCOPES = 1000;

  private final Lexer lexer;
  private final ModuleParser module;
  private final OperandParser operands;
  private final List<Statement> statements = new ArrayList<>();
  private final List<Variable> locals = new ArrayList<>();
  private Scope scope;

  BodyParser(Lexer lexer, ModuleParser module, Scope params) {
    this.lexer = lexer;
    this.module = module;
    operands = new OperandParser(lexer);
    scope = params;
    operands.enter(scope);
  }

  List<Statement> statements() {
    return statements;
  }

  List<Variable> locals() {
    return locals;
  }

  /** Parses from the opening to the closing brace. */
  void parse() throws PtxException {
    Tokens.expect(lexer, "{");
    int depth = 1;
    push();
    while (depth > 0) {
      Token token = lexer.peek();
      if (token.is("{")) {
        lexer.next();
        push();
        if (++depth > MAX_SCOPES) {
          throw Tokens.error(token, "Blocks nested too deeply");
        }
      } else if (token.is("}")) {
        lexer.next();
        depth--;
        scope.close(depth == 0);
        scope = requireNonNull(scope.parent());
        operands.enter(scope);
      } else {
        statement(token);
      }
    }
  }

  private void push() {
    scope = new Scope(scope);
    operands.enter(scope);
  }

  private void statement(Token token) throws PtxException {
    if (token.kind() == Kind.DOTTED) {
      directive(lexer.next());
    } else if (token.is("@")) {
      lexer.next();
      instruction(guard());
    } else if (token.is(";")) {
      lexer.next();
    } else if (token.kind() == Kind.WORD && lexer.peekSecond().is(":")) {
      lexer.next();
      lexer.next();
      label(token);
    } else if (token.kind() == Kind.WORD) {
      instruction(null);
    } else {
      throw Tokens.unexpected(token);
    }
  }

  private void directive(Token token) throws PtxException {
    switch (token.text()) {
      case ".reg" -> registers();
      case ".local" -> variables(Space.LOCAL, false);
      case ".shared" -> variables(Space.SHARED, false);
      case ".param" -> variables(Space.PARAM, false);
      case ".global", ".const" -> module.moduleVariable(token, Linkage.LOCAL, scope);
      case ".loc" -> location(token.line());
      case ".pragma" -> Tokens.skipTo(lexer, ";");
      case ".file" -> module.file();
      default -> throw Tokens.unexpected(token);
    }
  }

  private void registers() throws PtxException {
    for (Declaration declaration : new DeclarationParser(lexer).list()) {
      Token name = declaration.name();
      if (declaration.rangeCount() >= 0) {
        scope.declareRange(name.text(), declaration.rangeCount(), declaration.type());
      } else if (declaration.vector() > 1) {
        List<Register> elements = new ArrayList<>();
        for (int i = 0; i < declaration.vector(); i++) {
          elements.add(new Register(name.text() + "." + "xyzw".charAt(i), declaration.type()));
        }
        scope.declare(name, new Scope.VectorRegister(elements));
      } else {
        scope.declare(name, new Register(name.text(), declaration.type()));
      }
    }
    Tokens.expect(lexer, ";");
  }

  private void variables(Space space, boolean external) throws PtxException {
    for (Declaration declaration : new DeclarationParser(lexer).list()) {
      Variable variable =
          new Variable(
              declaration.name().text(),
              space,
              declaration.sizeBytes(),
              declaration.alignBytes(),
              external);
      scope.declare(declaration.name(), variable);
      locals.add(variable);
    }
    Tokens.expect(lexer, ";");
  }

  private void label(Token name) throws PtxException {
    if (scope.findHere(name.text()) instanceof Register) {
      throw Tokens.error(name, "Duplicate definition of '" + name.text() + "'");
    }
    Label label = scope.defineLabel(name);
    if (Tokens.accept(lexer, ".branchtargets")) {
      List<Label> targets = new ArrayList<>();
      do {
        targets.add(scope.referToLabel(Tokens.word(lexer)));
      } while (Tokens.accept(lexer, ","));
      Tokens.expect(lexer, ";");
      label.listTargets(targets);
    } else if (Tokens.accept(lexer, ".callprototype")) {
      label.declarePrototype(module.prototype(scope));
    } else if (Tokens.accept(lexer, ".calltargets")) {
      Tokens.skipTo(lexer, ";");
    } else {
      statements.add(new Statement.Mark(label));
    }
  }

  private Guard guard() throws PtxException {
    boolean negated = Tokens.accept(lexer, "!");
    Token name = Tokens.word(lexer);
    if (scope.find(name.text()) instanceof Register register) {
      if (register.type() == Type.PRED) {
        return new Guard(register, negated);
      }
      throw Tokens.error(name, "Guard '" + name.text() + "' is not a predicate");
    }
    throw Tokens.error(name, "Unknown symbol '" + name.text() + "'");
  }

  private void instruction(@Nullable Guard guard) throws PtxException {
    Token opcode = Tokens.word(lexer);
    List<String> modifiers = new ArrayList<>();
    while (lexer.peek().kind() == Kind.DOTTED) {
      modifiers.add(lexer.next().text().substring(1));
    }
    List<Operand> list = new ArrayList<>();
    if (!lexer.peek().is(";")) {
      do {
        list.add(lexer.peek().is("(") && isCall(opcode) ? operands.parenthesised() : operand());
      } while (Tokens.accept(lexer, ","));
    }
    Tokens.expect(lexer, ";");
    Instruction instruction =
        new Instruction(
            opcode.line(),
            opcode.column(),
            guard,
            opcode.text(),
            module.complete(opcode.text(), List.copyOf(modifiers)),
            List.copyOf(list));
    InstructionSet.check(instruction, opcode);
    statements.add(instruction);
  }

  private Operand operand() throws PtxException {
    return operands.operand();
  }

  private static boolean isCall(Token opcode) {
    return opcode.text().equals("call");
  }

  /** {@code .loc file line column [, function_name label, inlined_at file line column]}. */
  private void location(int line) throws PtxException {
    if (lexer.peek().kind() == Kind.INTEGER && lexer.peekSecond().kind() == Kind.INTEGER) {
      long file = lexer.next().value();
      module.sourceLines().location(line, file, lexer.next().value());
    }
    while (lexer.peek().line() == line
        && (lexer.peek().kind() == Kind.INTEGER
            || lexer.peek().is(",")
            || lexer.peek().is("+")
            || lexer.peek().kind() == Kind.WORD)) {
      lexer.next();
    }
  }
}
