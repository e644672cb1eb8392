// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.admission;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.List;

/**
 * What becomes of an object that is admitted.
 *
 * @param object as it is to be
 * @param warnings for whoever sent it
 */
record Change(ObjectNode object, List<String> warnings) {
  static Change none(ObjectNode object) {
    return new Change(object, List.of());
  }
}
