// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.tenant;

import io.grpc.ServerCall;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * A call whose caller is still being verified elsewhere. It keeps the call's events until its
 * listener is known. Owned by the control thread.
 */
final class DelayedListener<Q> extends ServerCall.Listener<Q> {
  private final Deque<Consumer<ServerCall.Listener<Q>>> kept = new ArrayDeque<>();
  private ServerCall.@Nullable Listener<Q> listener;

  /** From now on this one listens. */
  void pass(ServerCall.Listener<Q> to) {
    listener = to;
    kept.forEach(event -> event.accept(to));
    kept.clear();
  }

  @Override
  public void onMessage(Q message) {
    tell(to -> to.onMessage(message));
  }

  @Override
  public void onHalfClose() {
    tell(ServerCall.Listener::onHalfClose);
  }

  @Override
  public void onCancel() {
    tell(ServerCall.Listener::onCancel);
  }

  @Override
  public void onComplete() {
    tell(ServerCall.Listener::onComplete);
  }

  @Override
  public void onReady() {
    tell(ServerCall.Listener::onReady);
  }

  private void tell(Consumer<ServerCall.Listener<Q>> event) {
    if (listener == null) {
      kept.add(event);
    } else {
      event.accept(listener);
    }
  }
}
