// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e.browser;

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.WebSocket;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.function.BiConsumer;

/**
 * A connection to a browser by its DevTools protocol. One thread sends; what the browser tells by
 * itself arrives on another.
 */
final class DevTools implements AutoCloseable, WebSocket.Listener {
  private static final long PATIENCE_SECONDS = 20;

  private final Map<Integer, CompletableFuture<JsonObject>> awaited = new ConcurrentHashMap<>();
  private final Map<String, BiConsumer<String, JsonObject>> listeners = new ConcurrentHashMap<>();
  private final StringBuilder text = new StringBuilder();
  private final HttpClient http = HttpClient.newHttpClient();
  private final WebSocket socket;
  private int last;

  DevTools(URI address) {
    socket = http.newWebSocketBuilder().buildAsync(address, this).join();
  }

  /** Has all events of a session told to someone: their names and parameters. */
  void listen(String session, BiConsumer<String, JsonObject> listener) {
    listeners.put(session, listener);
  }

  /**
   * Calls a method and waits for its result.
   *
   * @param session of a tab; empty: the browser itself
   */
  JsonObject call(String session, String method, JsonObject parameters) {
    int id = ++last;
    CompletableFuture<JsonObject> answer = new CompletableFuture<>();
    awaited.put(id, answer);
    JsonObject message = new JsonObject();
    message.addProperty("id", id);
    message.addProperty("method", method);
    message.add("params", parameters);
    if (!session.isEmpty()) {
      message.addProperty("sessionId", session);
    }
    socket.sendText(message.toString(), true).join();
    JsonObject whole = answer.orTimeout(PATIENCE_SECONDS, TimeUnit.SECONDS).join();
    if (whole.has("error")) {
      throw new AssertionError(method + " " + parameters + ": " + whole.get("error"));
    }
    return whole.getAsJsonObject("result");
  }

  @Override
  public CompletionStage<?> onText(WebSocket from, CharSequence part, boolean isLast) {
    text.append(part);
    if (isLast) {
      take(JsonParser.parseString(text.toString()).getAsJsonObject());
      text.setLength(0);
    }
    from.request(1);
    return null;
  }

  private void take(JsonObject message) {
    if (message.has("id")) {
      awaited.remove(message.get("id").getAsInt()).complete(message);
    } else if (message.has("sessionId")) {
      BiConsumer<String, JsonObject> listener =
          listeners.get(message.get("sessionId").getAsString());
      if (listener != null) {
        listener.accept(message.get("method").getAsString(), message.getAsJsonObject("params"));
      }
    }
  }

  @Override
  public void onError(WebSocket from, Throwable error) {
    awaited.values().forEach(answer -> answer.completeExceptionally(error));
  }

  @Override
  public CompletionStage<?> onClose(WebSocket from, int status, String reason) {
    onError(from, new IllegalStateException("the browser has ended"));
    return null;
  }

  @Override
  public void close() {
    socket.abort();
    http.shutdownNow();
  }
}
