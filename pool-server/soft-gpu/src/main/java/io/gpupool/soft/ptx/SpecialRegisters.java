// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.ptx;

import java.util.Collections;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/** Names and types of the special registers. */
public final class SpecialRegisters {
  private static final Map<String, Type> TYPES = new HashMap<>();

  static {
    for (String name : new String[] {"%tid", "%ntid", "%ctaid", "%nctaid", "%clusterid"}) {
      for (String axis : new String[] {".x", ".y", ".z"}) {
        TYPES.put(name + axis, Type.U32);
      }
    }
    for (String name : new String[] {"%nclusterid", "%cluster_ctaid", "%cluster_nctaid"}) {
      for (String axis : new String[] {".x", ".y", ".z"}) {
        TYPES.put(name + axis, Type.U32);
      }
    }
    for (String name :
        new String[] {
          "%laneid",
          "%warpid",
          "%nwarpid",
          "%smid",
          "%nsmid",
          "%clock",
          "%clock_hi",
          "%lanemask_eq",
          "%lanemask_le",
          "%lanemask_lt",
          "%lanemask_ge",
          "%lanemask_gt",
          "%globaltimer_lo",
          "%globaltimer_hi",
          "%total_smem_size",
          "%aggr_smem_size",
          "%dynamic_smem_size",
          "%reserved_smem_offset_begin",
          "%reserved_smem_offset_end",
          "%reserved_smem_offset_cap",
          "%cluster_ctarank",
          "%cluster_nctarank"
        }) {
      TYPES.put(name, Type.U32);
    }
    for (String name :
        new String[] {"%clock64", "%globaltimer", "%gridid", "%current_graph_exec"}) {
      TYPES.put(name, Type.U64);
    }
    TYPES.put("%is_explicit_cluster", Type.PRED);
    for (int i = 0; i < 32; i++) {
      TYPES.put("%envreg" + i, Type.B32);
    }
    for (int i = 0; i < 2; i++) {
      TYPES.put("%reserved_smem_offset_" + i, Type.B32);
    }
    for (int i = 0; i < 8; i++) {
      TYPES.put("%pm" + i, Type.U32);
      TYPES.put("%pm" + i + "_64", Type.U64);
    }
  }

  private SpecialRegisters() {}

  /** All names. */
  public static Set<String> names() {
    return Collections.unmodifiableSet(TYPES.keySet());
  }

  /** The type of a special register, empty if there is none of that name. */
  public static Optional<Type> typeOf(String name) {
    return Optional.ofNullable(TYPES.get(name));
  }
}
