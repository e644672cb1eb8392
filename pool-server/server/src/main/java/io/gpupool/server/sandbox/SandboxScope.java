// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.sandbox;

import java.nio.file.Path;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The parts of the machine that workers need for the GPUs that they serve.
 *
 * @param soft whether these are software GPUs
 * @param libraries of the driver, if they are named
 * @param libraryPath folders in which the linker looks for libraries, separated by colons
 * @param collectives whether NCCL connects the workers of this server with those of others
 * @param services folders of driver services that serve a single user (MPS); empty: none
 */
public record SandboxScope(
    boolean soft,
    List<Path> libraries,
    @Nullable String libraryPath,
    boolean collectives,
    List<String> services) {
  public SandboxScope {
    libraries = List.copyOf(libraries);
    services = List.copyOf(services);
  }
}
