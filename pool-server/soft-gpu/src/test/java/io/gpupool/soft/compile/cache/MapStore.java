// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.compile.cache;

import java.util.HexFormat;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;

/** A store in memory, whose entries a test may change. For any thread. */
record MapStore(Map<String, byte[]> entries) implements KernelStore {
  MapStore() {
    this(new ConcurrentHashMap<>());
  }

  @Override
  public Optional<byte[]> read(byte[] key) {
    return Optional.ofNullable(entries.get(HexFormat.of().formatHex(key)));
  }

  @Override
  public void write(byte[] key, byte[] content) {
    entries.put(HexFormat.of().formatHex(key), content);
  }
}
