// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session.collective;

/**
 * The failure of the stream that the calls of a step are in, so that they cannot be carried out.
 */
final class StreamFailedException extends Exception {
  private static final long serialVersionUID = 1;

  StreamFailedException(int status) {
    super("the stream of a call has failed with CUDA error " + status);
  }
}
