// SPDX-License-Identifier: Apache-2.0
package io.gpupool.client.lease;

import io.gpupool.control.v1.LeaseEvent;
import io.grpc.Status;
import io.grpc.stub.ClientCallStreamObserver;
import io.grpc.stub.ClientResponseObserver;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * A call that is answered by lease events. Cancelled by any thread.
 *
 * @param <R> the type of the request
 */
public final class LeaseEventCall<R> implements ClientResponseObserver<R, LeaseEvent> {
  private final LeaseEventStream events;
  private final Runnable onReady;
  private final Consumer<Status> onClose;
  private volatile @Nullable ClientCallStreamObserver<R> call;

  /**
   * Starts nothing: that is for the stub which this is given to.
   *
   * @param onReady runs when the call has reached a server
   * @param onClose runs when the call is over, before the listener hears of it
   */
  LeaseEventCall(LeaseEventStream.Listener listener, Runnable onReady, Consumer<Status> onClose) {
    events = new LeaseEventStream(listener);
    this.onReady = onReady;
    this.onClose = onClose;
  }

  /** Withdraws the request or lets the lease go; the listener may still hear of that as an end. */
  public void cancel(String why) {
    ClientCallStreamObserver<R> started = call;
    if (started != null) {
      started.cancel(why, null);
    }
  }

  @Override
  public void beforeStart(ClientCallStreamObserver<R> starting) {
    call = starting;
    starting.setOnReadyHandler(onReady);
  }

  @Override
  public void onNext(LeaseEvent event) {
    events.onEvent(event);
  }

  @Override
  public void onError(Throwable failure) {
    close(Status.fromThrowable(failure));
  }

  @Override
  public void onCompleted() {
    close(Status.OK);
  }

  private void close(Status status) {
    onClose.accept(status);
    events.onClose(status);
  }
}
