// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.capacity;

import io.gpupool.server.gpu.Gpu;
import io.gpupool.server.records.ServerEntry;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** The servers of the pool, as this one sees them. Owned by the control thread. */
public interface Members {
  /** The GPUs of this server, of all that live, and of those that were seen to go. */
  List<Gpu> gpus();

  /** Whether this is the name of this server. */
  boolean isThis(String server);

  /** Whether a server lives, so that its GPUs can be granted. */
  boolean lives(String server);

  /** The other servers that live, by name. */
  Map<String, ServerEntry> others();

  /** Whether there can be no others. */
  default boolean isAlone() {
    return false;
  }

  /** Whether this server is to clear away what servers that are gone have left. */
  boolean isFirst();

  /** {@code HOST:PORT} of the control plane of another server that lives. */
  default Optional<String> addressOf(String server) {
    return Optional.ofNullable(others().get(server)).map(entry -> entry.endpoint().address());
  }

  /** A pool of one server, whatever it is called. */
  static Members alone(List<Gpu> gpus) {
    List<Gpu> all = List.copyOf(gpus);
    return new Members() {
      @Override
      public List<Gpu> gpus() {
        return all;
      }

      @Override
      public boolean isThis(String server) {
        return true;
      }

      @Override
      public boolean lives(String server) {
        return true;
      }

      @Override
      public Map<String, ServerEntry> others() {
        return Map.of();
      }

      @Override
      public boolean isAlone() {
        return true;
      }

      @Override
      public boolean isFirst() {
        return false;
      }
    };
  }
}
