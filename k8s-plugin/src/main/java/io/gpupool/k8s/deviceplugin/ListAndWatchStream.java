// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.deviceplugin;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import io.gpupool.k8s.deviceplugin.v1beta1.ListAndWatchResponse;
import io.grpc.stub.ServerCallStreamObserver;
import org.jspecify.annotations.Nullable;

/**
 * The stream of a kubelet's ListAndWatch call. It sends the newest devices as soon as the kubelet
 * accepts them, and never the same list twice in a row. For any thread.
 */
final class ListAndWatchStream {
  private final ServerCallStreamObserver<ListAndWatchResponse> kubelet;

  @GuardedBy("this")
  private @Nullable DeviceList sent;

  @GuardedBy("this")
  private DeviceList newest;

  /** May be called only while the call is being accepted. */
  ListAndWatchStream(ServerCallStreamObserver<ListAndWatchResponse> kubelet, DeviceList first) {
    this.kubelet = kubelet;
    newest = first;
    kubelet.setOnReadyHandler(this::send);
  }

  void show(DeviceList devices) {
    synchronized (this) {
      newest = devices;
    }
    send();
  }

  private synchronized void send() {
    if (!newest.equals(sent) && kubelet.isReady()) {
      sent = newest;
      kubelet.onNext(newest.message());
    }
  }
}
