// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.ptx.parse;

import io.gpupool.soft.ptx.Function.Formal;
import io.gpupool.soft.ptx.PtxException;
import io.gpupool.soft.ptx.Register;
import io.gpupool.soft.ptx.Space;
import io.gpupool.soft.ptx.Variable;
import java.util.ArrayList;
import java.util.List;

/** Parser of the formal parameters and results of functions. */
final class FormalParser {
  private FormalParser() {}

  /** Parses a list of parameters in parentheses, and declares them. */
  static List<Formal> parse(Lexer lexer, Scope into) throws PtxException {
    List<Formal> formals = new ArrayList<>();
    Tokens.expect(lexer, "(");
    if (!lexer.peek().is(")")) {
      do {
        Token space = lexer.next();
        if (!space.is(".param") && !space.is(".reg")) {
          throw Tokens.unexpected(space);
        }
        formals.add(formal(lexer, space.is(".reg"), into));
      } while (Tokens.accept(lexer, ","));
    }
    Tokens.expect(lexer, ")");
    return formals;
  }

  private static Formal formal(Lexer lexer, boolean register, Scope into) throws PtxException {
    Declaration declaration = new DeclarationParser(lexer).one();
    Token name = declaration.name();
    Object meaning;
    Formal formal;
    if (register) {
      Register made = new Register(name.text(), declaration.type());
      meaning = made;
      formal = new Formal.InRegister(made);
    } else {
      Variable made =
          new Variable(
              name.text(), Space.PARAM, declaration.sizeBytes(), declaration.alignBytes(), false);
      meaning = made;
      formal = new Formal.InMemory(made);
    }
    if (!name.text().equals("_")) {
      into.declare(name, meaning);
    }
    return formal;
  }
}
