// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.api;

import io.fabric8.mockwebserver.http.RecordedRequest;
import io.fabric8.mockwebserver.http.Response;
import io.fabric8.mockwebserver.http.WebSocket;
import io.fabric8.mockwebserver.http.WebSocketListener;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/**
 * A watch of fabric8's server that leaves its events to a thread that nobody waits for.
 *
 * <p>The one of 7.8.0 waits until each event is written. When the client closes the watch at that
 * time, the event loop waits for the watch and the watch for the event loop: the server stands
 * still for 30 s, for all its clients, and cannot be closed.
 */
final class PromptWatch extends WebSocketListener {
  private final WebSocketListener watch;
  private final ExecutorService sender =
      Executors.newSingleThreadExecutor(Thread.ofVirtual().factory());

  PromptWatch(WebSocketListener watch) {
    this.watch = watch;
  }

  private record PromptSocket(WebSocket socket, ExecutorService sender) implements WebSocket {
    @Override
    public RecordedRequest request() {
      return socket.request();
    }

    @Override
    public boolean send(String text) {
      sender.execute(() -> socket.send(text));
      return true;
    }

    @Override
    public boolean send(byte[] bytes) {
      sender.execute(() -> socket.send(bytes));
      return true;
    }

    @Override
    public boolean close(int code, String reason) {
      return socket.close(code, reason);
    }
  }

  @Override
  public void onOpen(WebSocket socket, Response response) {
    watch.onOpen(new PromptSocket(socket, sender), response);
  }

  @Override
  public void onClosing(WebSocket socket, int code, String reason) {
    watch.onClosing(socket, code, reason);
  }

  @Override
  public void onClosed(WebSocket socket, int code, String reason) {
    watch.onClosed(socket, code, reason);
    sender.shutdown();
  }

  @Override
  public void onFailure(WebSocket socket, Throwable cause, Response response) {
    watch.onFailure(socket, cause, response);
    sender.shutdown();
  }
}
