// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.deviceplugin;

import io.gpupool.k8s.deviceplugin.v1beta1.ListAndWatchResponse;
import io.grpc.stub.ServerCallStreamObserver;

/**
 * A kubelet's ListAndWatch: is sent the newest seats as soon as it takes them, and none twice in a
 * row. For any thread.
 */
final class SeatStream {
  private final ServerCallStreamObserver<ListAndWatchResponse> kubelet;
  private Seats sent;
  private Seats newest;

  /** Only while the call is being taken. */
  SeatStream(ServerCallStreamObserver<ListAndWatchResponse> kubelet, Seats first) {
    this.kubelet = kubelet;
    newest = first;
    kubelet.setOnReadyHandler(this::send);
  }

  void show(Seats seats) {
    synchronized (this) {
      newest = seats;
    }
    send();
  }

  private synchronized void send() {
    if (!newest.equals(sent) && kubelet.isReady()) {
      sent = newest;
      kubelet.onNext(sent.message());
    }
  }
}
