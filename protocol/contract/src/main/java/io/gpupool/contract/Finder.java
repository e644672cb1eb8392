// SPDX-License-Identifier: Apache-2.0
package io.gpupool.contract;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A kind of look-up in the shim.
 *
 * @param name its name, for example {@code module of}
 * @param variables the declarations of what it finds, for example {@code struct module *module}
 * @param call its call in C, with {@code GIVEN} for the argument
 * @param failure the result if the call returns NULL; null: the call returns a CUresult
 */
public record Finder(String name, List<String> variables, String call, @Nullable String failure) {
  public Finder {
    variables = List.copyOf(variables);
  }

  /** Returns whether an argument names what is looked up. */
  boolean takesArgument() {
    return name.endsWith(" of");
  }

  /** Returns the name of a variable from its declaration. */
  static String nameOf(String declaration) {
    return declaration.replaceFirst(".*[ *]", "");
  }
}
