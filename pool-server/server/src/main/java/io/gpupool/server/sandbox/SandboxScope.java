// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.sandbox;

import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/**
 * What workers need of the machine, by the GPUs that they serve.
 *
 * @param soft whether the GPUs are in software
 * @param libraries of the driver, where they are named
 * @param libraryPath folders in which the linker looks for libraries, with colons between
 * @param services folders of services of the driver that serve one user alone (MPS); empty: none
 */
public record SandboxScope(
    boolean soft, List<Path> libraries, Optional<String> libraryPath, List<String> services) {
  public SandboxScope {
    libraries = List.copyOf(libraries);
    services = List.copyOf(services);
  }
}
