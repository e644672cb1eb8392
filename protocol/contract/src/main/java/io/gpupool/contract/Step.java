// SPDX-License-Identifier: Apache-2.0
package io.gpupool.contract;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * One step of an entry point whose function in the shim is generated. The steps run in their order,
 * and the first that fails ends the call.
 */
public sealed interface Step {
  /**
   * A check of arguments.
   *
   * @param conditions what makes the call fail, as conditions in C
   * @param result the result of a call that fails, without {@code CUDA_ERROR_}
   */
  record Need(List<String> conditions, String result) implements Step {
    public Need {
      conditions = List.copyOf(conditions);
    }
  }

  /**
   * A look-up of something that the shim keeps.
   *
   * @param finder the kind of look-up
   * @param given the argument that names it; null for what is current
   * @param variable the name of the variable in C; null: the finder's own
   */
  record Find(Finder finder, @Nullable String given, @Nullable String variable) implements Step {}

  /**
   * An output.
   *
   * @param parameter the pointer to it
   * @param optional whether the pointer may be NULL
   * @param value its value in C
   */
  record Give(String parameter, boolean optional, String value) implements Step {}

  /**
   * A change of what the shim keeps.
   *
   * @param place the place that changes
   * @param value its value in C
   */
  record Assign(String place, String value) implements Step {}

  /**
   * An op on the call stream.
   *
   * @param op its name
   * @param arguments its fields in C; {@code out NAME} is an output
   * @param context the context that it belongs to
   */
  record Send(String op, List<String> arguments, String context) implements Step {
    public Send {
      arguments = List.copyOf(arguments);
    }
  }

  /**
   * The end of a handle, after the op that ends it on the server.
   *
   * @param variable the object
   * @param arena the arena that it lies in
   */
  record Drop(String variable, String arena) implements Step {}

  /**
   * A result that every call has that comes this far; the last step.
   *
   * @param result the result, without {@code CUDA_ERROR_}
   */
  record Answer(String result) implements Step {}

  /**
   * A call of another function.
   *
   * @param use what its result is for
   * @param function another entry point, or a function of the shim
   * @param arguments its arguments in C
   */
  record Call(Use use, String function, List<String> arguments) implements Step {
    public Call {
      arguments = List.copyOf(arguments);
    }

    /** The uses of a result. */
    enum Use {
      /** The call gives the result; it is the last step. */
      CALL,
      /** An error ends the entry point. */
      DO,
      /** The function has no result. */
      RUN
    }

    /** Returns whether the function is another entry point. */
    boolean isEntryPoint() {
      return function.matches("cu[A-Z]\\w*");
    }
  }
}
