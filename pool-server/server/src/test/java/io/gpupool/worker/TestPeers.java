// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker;

import io.gpupool.transport.UnixPeer;
import io.gpupool.wire.TextMessage;
import java.io.BufferedReader;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;

/** The test worker's connections to the program's workers at other servers. */
final class TestPeers {
  private static final long WAIT_SECONDS = 20;

  private final Map<String, CompletableFuture<Integer>> peers = new ConcurrentHashMap<>();

  /** What the server says of one; a descriptor follows unless it is an error. */
  void take(TextMessage message, UnixPeer control) throws IOException {
    CompletableFuture<Integer> peer = peer(message.get("link").orElseThrow());
    if (message.get("error").isPresent()) {
      peer.completeExceptionally(new IOException(message.get("error").get()));
    } else {
      peer.complete(control.receiveDescriptor().orElseThrow());
    }
  }

  /** Asks for a connection; "ok", or why there is none. */
  String connect(String link, String session, String key, UnixPeer control) throws IOException {
    control.send(
        TextMessage.ofType("peer")
            .put("link", link)
            .put("session", session)
            .put("key", key)
            .build());
    try {
      descriptor(link);
      return "ok";
    } catch (IOException e) {
      return "error: " + e.getMessage();
    } finally {
      peers.computeIfPresent(link, (l, peer) -> peer.isCompletedExceptionally() ? null : peer);
    }
  }

  String tell(String link, String word) throws IOException {
    new FileOutputStream(WorkerMain.plain(descriptor(link)))
        .write((word + "\n").getBytes(StandardCharsets.UTF_8));
    return "ok";
  }

  String hear(String link) throws IOException {
    FileInputStream in = new FileInputStream(WorkerMain.plain(descriptor(link)));
    return new BufferedReader(new InputStreamReader(in, StandardCharsets.UTF_8)).readLine();
  }

  private int descriptor(String link) throws IOException {
    try {
      return peer(link).get(WAIT_SECONDS, TimeUnit.SECONDS);
    } catch (Exception e) {
      throw new IOException(e.getCause() == null ? e.toString() : e.getCause().getMessage(), e);
    }
  }

  private CompletableFuture<Integer> peer(String link) {
    return peers.computeIfAbsent(link, l -> new CompletableFuture<>());
  }
}
