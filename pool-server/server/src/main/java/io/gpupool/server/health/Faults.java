// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.health;

import java.util.ArrayList;
import java.util.List;

/**
 * The faults of one GPU that its driver has reported.
 *
 * @param count since the server started
 * @param last NVIDIA's numbers of the last faults, at most {@value #KEPT}, in order
 */
public record Faults(long count, List<Integer> last) {
  static final Faults NONE = new Faults(0, List.of());
  private static final int KEPT = 8;

  public Faults {
    last = List.copyOf(last);
  }

  Faults and(int xid) {
    List<Integer> all = new ArrayList<>(last);
    all.add(xid);
    return new Faults(count + 1, all.subList(Math.max(0, all.size() - KEPT), all.size()));
  }
}
