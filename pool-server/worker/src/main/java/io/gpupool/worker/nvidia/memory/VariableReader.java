// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.nvidia.memory;

import java.util.Optional;
import java.util.OptionalLong;

/** A driver's service that finds the variables of modules, and reads them. */
public interface VariableReader {
  /** Returns where a variable of a module is; empty if the module has none of the name. */
  Optional<Extent> find(long module, String name);

  /** Returns a fingerprint of some bytes of the GPU; empty if they cannot be read. */
  OptionalLong print(long address, long lengthBytes);
}
