// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.state.etcd;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.ArrayList;
import java.util.List;

/** A network between a server and etcd that can be cut: then bytes vanish, as with a dead cable. */
public final class Cut implements AutoCloseable {
  private final ServerSocket socket;
  private final String host;
  private final int port;
  private final List<Socket> open = new ArrayList<>();
  private volatile boolean severed;

  private Cut(String host, int port) throws IOException {
    this.host = host;
    this.port = port;
    socket = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
    Thread.ofVirtual().start(this::accept);
  }

  /** Before what listens at this {@code HOST:PORT}. */
  public static Cut before(String address) throws IOException {
    int colon = address.lastIndexOf(':');
    return new Cut(address.substring(0, colon), Integer.parseInt(address.substring(colon + 1)));
  }

  public int port() {
    return socket.getLocalPort();
  }

  public void sever() {
    severed = true;
  }

  /** What was sent meanwhile is lost, so old connections break. */
  public void heal() {
    severed = false;
    closeAll();
  }

  @Override
  public void close() throws IOException {
    socket.close();
    closeAll();
  }

  private synchronized void closeAll() {
    for (Socket one : open) {
      try {
        one.close();
      } catch (IOException e) {
        // It is of no more use either way.
      }
    }
    open.clear();
  }

  private void accept() {
    while (!socket.isClosed()) {
      try {
        Socket from = socket.accept();
        Socket to = new Socket(host, port);
        synchronized (this) {
          open.add(from);
          open.add(to);
        }
        Thread.ofVirtual().start(() -> pump(from, to));
        Thread.ofVirtual().start(() -> pump(to, from));
      } catch (IOException e) {
        // Closed, or nobody there: the other end sees it.
      }
    }
  }

  private void pump(Socket from, Socket to) {
    byte[] bytes = new byte[16 << 10];
    try (from;
        to) {
      InputStream in = from.getInputStream();
      OutputStream out = to.getOutputStream();
      for (int read = in.read(bytes); read >= 0; read = in.read(bytes)) {
        if (!severed) {
          out.write(bytes, 0, read);
        }
      }
    } catch (IOException e) {
      // The connection is over.
    }
  }
}
