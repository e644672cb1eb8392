// SPDX-License-Identifier: Apache-2.0
package io.gpupool.cli.run;

import io.gpupool.client.connection.PoolAddress;
import java.io.IOException;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/** A pool of this machine's GPUs that lives as long as one command. */
public interface LocalPool extends AutoCloseable {
  /** Answers to a launch in software of a kernel without PTX. */
  enum MissingPtx {
    fail,
    skip
  }

  /**
   * The options of such a pool.
   *
   * @param gpus as {@code gpupool server --gpus} takes them
   * @param libcuda the driver's library, where it is not on the usual path; else null
   */
  record Options(String gpus, @Nullable Path libcuda, MissingPtx missingPtx) {}

  /** Starts such pools: a server does, which this command need not know. */
  interface Starter {
    LocalPool start(Options options) throws IOException;
  }

  PoolAddress address();

  @Override
  void close();
}
