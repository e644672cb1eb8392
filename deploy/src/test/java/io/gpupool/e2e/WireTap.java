// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * A TCP relay in front of a server's port that keeps all bytes, and can flip a bit. It listens
 * where a {@link CutProxy} does.
 */
final class WireTap implements AutoCloseable {
  private static final int BUFFER_BYTES = 64 << 10;

  private final int port;
  private final ServerSocket listener;
  private final ByteArrayOutputStream toServer = new ByteArrayOutputStream();
  private final ByteArrayOutputStream toClient = new ByteArrayOutputStream();
  private final AtomicInteger connections = new AtomicInteger();

  /** The byte of each connection whose lowest bit is flipped; -1: none. */
  private volatile int flippedToServer = -1;

  private volatile int flippedToClient = -1;

  private WireTap(int port) throws IOException {
    this.port = port;
    listener = new ServerSocket(port, 1024, InetAddress.getByName(CutProxy.HOST));
    Thread.ofPlatform().daemon().name("wire-tap").start(this::accept);
  }

  static WireTap start(int port) {
    try {
      return new WireTap(port);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** From now on flips a bit of this byte of each connection; -1: of none. */
  void flip(int byteToServer, int byteToClient) {
    flippedToServer = byteToServer;
    flippedToClient = byteToClient;
  }

  int connections() {
    return connections.get();
  }

  byte[] toServer() {
    synchronized (toServer) {
      return toServer.toByteArray();
    }
  }

  byte[] toClient() {
    synchronized (toClient) {
      return toClient.toByteArray();
    }
  }

  private void accept() {
    try {
      while (true) {
        Socket client = listener.accept();
        Socket server = new Socket();
        server.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), port));
        client.setTcpNoDelay(true);
        server.setTcpNoDelay(true);
        connections.incrementAndGet();
        int up = flippedToServer;
        int down = flippedToClient;
        Thread.ofPlatform().daemon().start(() -> pump(client, server, toServer, up));
        Thread.ofPlatform().daemon().start(() -> pump(server, client, toClient, down));
      }
    } catch (IOException e) {
      // The tap is closed.
    }
  }

  private static void pump(Socket from, Socket to, ByteArrayOutputStream kept, int flipped) {
    byte[] buffer = new byte[BUFFER_BYTES];
    try (from;
        to) {
      InputStream in = from.getInputStream();
      OutputStream out = to.getOutputStream();
      long passed = 0;
      for (int count = in.read(buffer); count >= 0; count = in.read(buffer)) {
        if (passed <= flipped && flipped < passed + count) {
          buffer[(int) (flipped - passed)] ^= 1;
        }
        passed += count;
        synchronized (kept) {
          kept.write(buffer, 0, count);
        }
        out.write(buffer, 0, count);
      }
    } catch (IOException e) {
      // One side has closed.
    }
  }

  @Override
  public void close() {
    try {
      listener.close();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
