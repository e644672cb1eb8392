// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;

/**
 * A TCP relay in front of a server's port that breaks its connections as a {@link CutPlan} says. It
 * listens on the server's port number at another loopback address, so that clients which reach the
 * server there send everything through it.
 */
final class CutProxy implements AutoCloseable {
  /** Address of the proxies; the servers listen on 127.0.0.1. */
  static final String HOST = "127.0.0.2";

  private static final int BUFFER_BYTES = 64 << 10;
  private static final long HALF_OPEN_MILLIS = 300;

  private final ServerSocket listener;
  private final Set<Link> links = ConcurrentHashMap.newKeySet();
  private volatile CutPlan plan = CutPlan.none();

  private CutProxy(ServerSocket listener) {
    this.listener = listener;
  }

  /** Relays to this port of 127.0.0.1. */
  static CutProxy start(int port) throws IOException {
    CutProxy proxy = new CutProxy(new ServerSocket(port, 1024, InetAddress.getByName(HOST)));
    Thread.ofPlatform().daemon().name("cut-proxy").start(proxy::accept);
    return proxy;
  }

  /** From now on breaks connections as this plan says. */
  void follow(CutPlan newPlan) {
    plan = newPlan;
  }

  private void accept() {
    try {
      while (true) {
        Socket client = listener.accept();
        Socket server = new Socket();
        Link link = new Link(client, server);
        links.add(link);
        try {
          client.setTcpNoDelay(true);
          server.setTcpNoDelay(true);
          server.connect(new InetSocketAddress("127.0.0.1", listener.getLocalPort()));
          Thread.ofPlatform().daemon().start(() -> link.pump(client, server));
          Thread.ofPlatform().daemon().start(() -> link.pump(server, client));
        } catch (IOException e) {
          link.close();
        }
      }
    } catch (IOException e) {
      // The proxy is closed.
    }
  }

  /** One connection of a client. */
  private final class Link {
    private final Socket client;
    private final Socket server;

    Link(Socket client, Socket server) {
      this.client = client;
      this.server = server;
    }

    void pump(Socket from, Socket to) {
      byte[] buffer = new byte[BUFFER_BYTES];
      try {
        InputStream in = from.getInputStream();
        OutputStream out = to.getOutputStream();
        for (int count = in.read(buffer); count >= 0; count = in.read(buffer)) {
          CutPlan.Step step = plan.forward(count);
          out.write(buffer, 0, step.bytes());
          if (step.cut() != null) {
            cut(step.cut(), from, to);
            return;
          }
        }
        close();
      } catch (IOException e) {
        close();
      }
    }

    private void cut(CutPlan.Cut cut, Socket from, Socket to) throws IOException {
      switch (cut) {
        case RESET -> {
          from.setSoLinger(true, 0);
          to.setSoLinger(true, 0);
          close();
        }
        case CLOSE -> close();
        // The sender sees a reset; the receiver sees the end only when the proxy gives the link up.
        case HALF_OPEN -> {
          from.setSoLinger(true, 0);
          from.close();
          later(this::close);
        }
      }
    }

    void close() {
      links.remove(this);
      closeQuietly(client);
      closeQuietly(server);
    }
  }

  private static void later(Runnable action) {
    CompletableFuture.delayedExecutor(HALF_OPEN_MILLIS, TimeUnit.MILLISECONDS).execute(action);
  }

  private static void closeQuietly(Socket socket) {
    try {
      socket.close();
    } catch (IOException e) {
      // It is closed already.
    }
  }

  @Override
  public void close() throws IOException {
    listener.close();
    links.forEach(Link::close);
  }
}
