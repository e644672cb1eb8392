// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.Map;

/** An {@code nvidia-cuda-mps-control} that writes down what it is told, and does nothing. */
record MpsDaemon(Path folder) {
  static MpsDaemon in(Path folder) throws IOException {
    Path daemon = folder.resolve("nvidia-cuda-mps-control");
    Files.writeString(
        daemon,
        "#!/bin/sh\n{ echo \"$CUDA_MPS_PIPE_DIRECTORY $*\"; cat; } >> " + folder + "/said\n");
    Files.setPosixFilePermissions(daemon, PosixFilePermissions.fromString("rwxr-xr-x"));
    return new MpsDaemon(folder);
  }

  /** The environment in which it is found. */
  Map<String, String> environment() {
    return Map.of("PATH", folder + ":" + System.getenv("PATH"));
  }

  /** Its environment and arguments each time it was started, and what it read. */
  List<String> said() throws IOException {
    return Files.readAllLines(folder.resolve("said"));
  }
}
