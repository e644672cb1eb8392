// SPDX-License-Identifier: Apache-2.0
package io.gpupool.rest;

import java.util.Comparator;
import java.util.List;

/** A path that lists things of one kind. */
interface ResourceCollection {
  /** As the path has it. */
  String name();

  /** All that the caller may see, in order. */
  List<Resource> read(Call call) throws ProblemException;

  default Comparator<NaturalOrder> order() {
    return Comparator.naturalOrder();
  }
}
