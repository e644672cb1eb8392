// SPDX-License-Identifier: Apache-2.0
package io.gpupool.contract;

import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * One symbol of the CUDA driver API.
 *
 * @param symbol the exported name, for example {@code cuMemAlloc_v2}
 * @param version the CUDA version from which {@code cuGetProcAddress} gives it out under {@link
 *     #procName}
 * @param callClass how it is answered
 * @param body the origin of its function in the shim
 * @param backend whether it is a method of the backend interface
 * @param perThread the suffix of its per-thread default stream variant, {@code _ptsz} or {@code
 *     _ptds}; null if it has none
 * @param parameters its parameters
 * @param topic the file that declares it, for example {@code memory}
 */
public record EntryPoint(
    String symbol,
    int version,
    CallClass callClass,
    Body body,
    boolean backend,
    @Nullable String perThread,
    List<Parameter> parameters,
    String topic) {

  public EntryPoint {
    parameters = List.copyOf(parameters);
  }

  /**
   * Returns the name that {@code cuGetProcAddress} knows: the symbol without its version suffix.
   */
  public String procName() {
    return symbol.replaceFirst("_v[0-9]+$", "");
  }

  /** Returns whether the entry point is an op of its own on the call stream. */
  public boolean isOp() {
    return body.auto() && body.steps().isEmpty();
  }

  /** Returns the reason for which it is refused. */
  public Optional<String> reason() {
    return Optional.ofNullable(body.reason());
  }
}
