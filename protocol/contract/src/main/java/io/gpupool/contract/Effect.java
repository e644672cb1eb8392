// SPDX-License-Identifier: Apache-2.0
package io.gpupool.contract;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The lasting effect of an op on a session, once it has succeeded.
 *
 * @param verb the change
 * @param things what is changed; several of {@link Verb#CLEARS}, otherwise one
 * @param owner what it ends with; null: the session
 * @param fixed the reason for which a session that has it cannot move; null: it can
 */
public record Effect(Verb verb, List<Thing> things, @Nullable Thing owner, @Nullable String fixed) {
  /** The context of the frame. */
  static final Thing CONTEXT = new Thing("context", List.of());

  public Effect {
    things = List.copyOf(things);
  }

  /** The changes of a session. */
  public enum Verb {
    /** Makes an object. */
    MAKES,
    /** Sets something, of which the last setting counts. */
    SETS,
    /** Adds one more of a kind. */
    ADDS,
    /** Ends an object and what it owns. */
    ENDS,
    /** Ends all of some kinds that an owner has. */
    CLEARS
  }

  /**
   * A name for something of a session.
   *
   * @param kind its kind
   * @param fields the fields of the op whose values tell it from others of its kind
   */
  public record Thing(String kind, List<String> fields) {
    public Thing {
      fields = List.copyOf(fields);
    }
  }
}
