// SPDX-License-Identifier: Apache-2.0
package io.gpupool.rest.resource;

import io.gpupool.rest.call.Call;
import io.gpupool.rest.http.ProblemException;
import java.util.Comparator;
import java.util.List;

/** A path that lists things of one kind. */
public interface ResourceCollection {
  /** As the path has it. */
  String name();

  /** All that the caller may see, in order. */
  List<Resource> read(Call call) throws ProblemException;

  default Comparator<NaturalOrder> order() {
    return Comparator.naturalOrder();
  }
}
