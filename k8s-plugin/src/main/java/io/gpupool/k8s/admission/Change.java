// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.admission;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.List;

/**
 * The result of an admission: the object to store, and warnings.
 *
 * @param object the object as it is to be stored
 * @param warnings for the sender of the request
 */
record Change(ObjectNode object, List<String> warnings) {
  static Change none(ObjectNode object) {
    return new Change(object, List.of());
  }
}
