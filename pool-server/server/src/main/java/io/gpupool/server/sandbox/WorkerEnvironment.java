// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.sandbox;

import io.gpupool.server.driver.DriverSearch;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/**
 * The environment variables of worker processes: a few of the server's, by name. The server's own
 * may hold secrets.
 */
public final class WorkerEnvironment {
  /** Where the script that starts a worker finds the tools that it calls. */
  private static final String TOOLS = "/usr/bin:/bin";

  private static final String LIBRARY_PATH = "LD_LIBRARY_PATH";

  /** Variables of NVIDIA's NCCL, such as the network interface that it uses. */
  private static final String NCCL = "NCCL_";

  private static final Set<String> NAMES =
      Set.of(
          "GPUPOOL_AOT_RECORD",
          "GPUPOOL_JAVA_OPTIONS",
          "GPUPOOL_MODEL",
          "LANG",
          "LC_ALL",
          "LC_CTYPE",
          LIBRARY_PATH,
          "TZ",
          // NVIDIA's driver
          "CUDA_DEVICE_MAX_CONNECTIONS",
          "CUDA_DEVICE_ORDER",
          "CUDA_DEVICE_WAITS_ON_EXCEPTION",
          "CUDA_DISABLE_PTX_JIT",
          "CUDA_FORCE_PTX_JIT",
          "CUDA_LAUNCH_BLOCKING",
          "CUDA_MODULE_DATA_LOADING",
          "CUDA_MODULE_LOADING",
          "CUDA_VISIBLE_DEVICES",
          "NVIDIA_DRIVER_CAPABILITIES",
          "NVIDIA_VISIBLE_DEVICES");

  private static final DriverSearch DRIVER = new DriverSearch(Path.of("/"));

  private WorkerEnvironment() {}

  /**
   * What of a server's environment its workers get.
   *
   * @param besides names of more variables
   */
  public static Map<String, String> of(Map<String, String> server, List<String> besides) {
    Map<String, String> own = new TreeMap<>();
    server.forEach((name, value) -> {
      if (NAMES.contains(name) || name.startsWith(NCCL) || besides.contains(name)) {
        own.put(name, value);
      }
    });
    own.put("PATH", TOOLS);
    DRIVER.libraryPath(own.get(LIBRARY_PATH)).ifPresent(path -> own.put(LIBRARY_PATH, path));
    // Numbers that do not change with what else is in the machine.
    own.putIfAbsent("CUDA_DEVICE_ORDER", "PCI_BUS_ID");
    // As drivers of CUDA 12.2 and later; code that no program launches then takes no memory.
    own.putIfAbsent("CUDA_MODULE_LOADING", "LAZY");
    // Its cache of compiled code is a folder of the user, which all tenants' workers would share.
    own.putIfAbsent("CUDA_CACHE_DISABLE", "1");
    return own;
  }
}
