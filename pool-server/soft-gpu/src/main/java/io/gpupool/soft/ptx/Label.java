// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.ptx;

import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * A name that marks a place in a function's body, a list of branch targets, or a call prototype.
 * Its identity matters, since nested scopes may repeat a name. Not changed after parsing.
 */
public final class Label {
  private final String name;
  private Label definition;
  private List<Label> targets = List.of();
  private @Nullable Function prototype;

  public Label(String name) {
    this.name = name;
    definition = this;
  }

  public String name() {
    return name;
  }

  /** The label that stands in the body; a forward reference out of a scope has its own object. */
  public Label definition() {
    return definition == this ? this : definition.definition();
  }

  /** The places that {@code .branchtargets} lists here, else empty. */
  public List<Label> targets() {
    return definition().targets;
  }

  /** What {@code .callprototype} declares here. */
  public Optional<Function> prototype() {
    return Optional.ofNullable(definition().prototype);
  }

  public void define(Label actual) {
    definition = actual;
  }

  public void listTargets(List<Label> labels) {
    targets = List.copyOf(labels);
  }

  public void declarePrototype(Function function) {
    prototype = function;
  }

  @Override
  public String toString() {
    return name;
  }
}
