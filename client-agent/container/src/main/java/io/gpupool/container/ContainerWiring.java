// SPDX-License-Identifier: Apache-2.0
package io.gpupool.container;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The files and variables of every container that uses the pool, whoever starts it: the shim under
 * the names of NVIDIA's libraries, gpupool's NCCL, and the agent's socket. No device node and no
 * privilege.
 *
 * @param shimFolder on the machine, with the shim's libraries; beside it is a folder {@link #NCCL}
 * @param agentFolder on the machine, with the agent's socket, agent.sock
 */
public record ContainerWiring(Path shimFolder, Path agentFolder) {
  /**
   * The folder with gpupool's NCCL, beside the shim's: the library is no part of the shim, because
   * programs that find the shim by LD_LIBRARY_PATH keep NVIDIA's.
   */
  public static final String NCCL = "nccl";

  // Images have NVIDIA's library anywhere, and their programs find it there: so gpupool's is put
  // before it. This file leaves an LD_PRELOAD of the image or of the user in force, which a
  // variable would not.
  private static final String PRELOAD_LIST = "ld.so.preload";
  private static final String NCCL_LIBRARY = "libnccl.so.2";
  private static final List<String> LIBRARIES = List.of("libcuda.so.1", "libnvidia-ml.so.1");
  // Where the loaders of Debian's and Red Hat's kinds look, and where NVIDIA's images have theirs
  // look: so no environment variable of the image need be replaced.
  private static final List<String> LIBRARY_FOLDERS =
      List.of("/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/local/nvidia/lib64");
  private static final String AGENT_FOLDER = "/run/gpupool";

  /** Throws {@link IllegalArgumentException} for folders that are not absolute. */
  public ContainerWiring {
    for (Path folder : List.of(shimFolder, agentFolder)) {
      if (!folder.isAbsolute()) {
        throw new IllegalArgumentException(
            "'" + folder + "' must be a folder of the machine: give its absolute path");
      }
    }
  }

  /** A file or folder of the machine that the container sees, read-only. */
  public record Mount(String host, String container) {}

  /** Returns all mounts; the last is that of the socket's folder. */
  public List<Mount> mounts() {
    List<Mount> mounts = new ArrayList<>();
    for (String folder : LIBRARY_FOLDERS) {
      for (String library : LIBRARIES) {
        mounts.add(new Mount(shimFolder.resolve(library).toString(), folder + "/" + library));
      }
    }
    // Where the list says that it is.
    mounts.add(nccl(NCCL_LIBRARY, "/usr/lib/gpupool/" + NCCL_LIBRARY));
    mounts.add(nccl(PRELOAD_LIST, "/etc/" + PRELOAD_LIST));
    // The folder, so that another agent's socket is seen, too. Read-only keeps nobody from
    // connecting, but from removing the socket that all share.
    mounts.add(new Mount(agentFolder.toString(), AGENT_FOLDER));
    return List.copyOf(mounts);
  }

  private Mount nccl(String file, String inContainer) {
    return new Mount(shimFolder.resolveSibling(NCCL).resolve(file).toString(), inContainer);
  }

  /** Returns the variables that the container's programs need. */
  public Map<String, String> environment() {
    Map<String, String> environment = new LinkedHashMap<>();
    environment.put("GPUPOOL_AGENT", AGENT_FOLDER + "/agent.sock");
    // Else NCCL takes GPUs whose buses it does not know for far apart, and goes by way of hosts.
    environment.put("NCCL_P2P_LEVEL", "SYS");
    return Collections.unmodifiableMap(environment);
  }
}
