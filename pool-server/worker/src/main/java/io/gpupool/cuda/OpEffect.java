// SPDX-License-Identifier: Apache-2.0
package io.gpupool.cuda;

import io.gpupool.worker.os.Memory;
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
public record OpEffect(
    Verb verb, List<Thing> things, @Nullable Thing owner, @Nullable String fixed) {
  /** The kind of contexts, which frames name in their headers. */
  public static final String CONTEXT = "context";

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

  /** A name for something of a session. */
  public static final class Thing {
    private final String kind;
    private final int[] places;

    /**
     * Of a kind.
     *
     * @param places of the values that tell it from others: offsets in the frame, or those in the
     *     answer, inverted
     */
    Thing(String kind, int[] places) {
      this.kind = kind;
      this.places = places;
    }

    public String kind() {
      return kind;
    }

    /** Returns whether it is a context, which has its number from the frame's header. */
    public boolean isContext() {
      return kind.equals(CONTEXT);
    }

    /** Returns the bytes of an answer that its values need. */
    public int answerBytes() {
      int bytes = 0;
      for (int place : places) {
        bytes = place < 0 ? Math.max(bytes, ~place + Long.BYTES) : bytes;
      }
      return bytes;
    }

    /** Returns the values that tell it from others of its kind, as one number. */
    public long number(long frame, long answer) {
      long number = 0;
      for (int place : places) {
        long value = Memory.getLong(place < 0 ? answer + ~place : frame + place);
        number = number << Integer.SIZE ^ value;
      }
      return number;
    }
  }
}
