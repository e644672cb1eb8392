// SPDX-License-Identifier: Apache-2.0
package io.gpupool.client;

import io.grpc.stub.StreamObserver;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** An observer of calls whose failure changes nothing, since the pool finds out by itself. */
final class IgnoredReply<T> implements StreamObserver<T> {
  private static final Logger LOG = LoggerFactory.getLogger(IgnoredReply.class);

  @Override
  public void onNext(T reply) {}

  @Override
  public void onError(Throwable failure) {
    LOG.debug("a call that does not matter failed: {}", failure.getMessage());
  }

  @Override
  public void onCompleted() {}
}
