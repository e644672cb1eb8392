// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.ptx;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A kernel or device function.
 *
 * @param entry whether it is a kernel
 * @param linkage who else may define or call it
 * @param results {@code .param} variables or registers of the results
 * @param params {@code .param} variables or registers of the parameters
 * @param definition null where it is only declared
 */
public record Function(
    String name,
    boolean entry,
    Linkage linkage,
    int line,
    List<Formal> results,
    List<Formal> params,
    @Nullable Definition definition) {

  /**
   * The body of a function, between its braces.
   *
   * @param locals variables declared in the body, of any space
   */
  public record Definition(List<Variable> locals, List<Statement> statements) {}

  /** Returns whether it has a body. */
  public boolean defined() {
    return definition != null;
  }

  /** Returns the variables declared in its body, of any space. */
  public List<Variable> locals() {
    return definition == null ? List.of() : definition.locals();
  }

  /** Returns its statements; none where it is only declared. */
  public List<Statement> body() {
    return definition == null ? List.of() : definition.statements();
  }

  /** Returns whether the body holds an instruction of a name. */
  public boolean uses(String opcode) {
    return body().stream()
        .anyMatch(statement ->
            statement instanceof Statement.Instruction instruction
                && instruction.opcode().equals(opcode));
  }

  /** A function is equal to itself alone; bodies are too long to be compared. */
  @Override
  public boolean equals(Object other) {
    return this == other;
  }

  @Override
  public int hashCode() {
    return System.identityHashCode(this);
  }

  /** A formal parameter: in parameter space, or a register in functions of the old form. */
  public sealed interface Formal {
    record InMemory(Variable variable) implements Formal {}

    record InRegister(Register register) implements Formal {}
  }
}
