// SPDX-License-Identifier: Apache-2.0
package io.gpupool.transport.http;

import com.sun.net.httpserver.Filter;
import com.sun.net.httpserver.HttpHandler;
import com.sun.net.httpserver.HttpServer;
import com.sun.net.httpserver.HttpsConfigurator;
import com.sun.net.httpserver.HttpsParameters;
import com.sun.net.httpserver.HttpsServer;
import io.gpupool.transport.tls.TlsContext;
import io.gpupool.transport.tls.TlsEngines;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/** A port that HTTP is spoken at. Each request has a virtual thread of its own. */
public final class HttpPort implements AutoCloseable {
  private static final int MAX_CONNECTIONS = 512;
  private static final int MAX_REQUEST_SECONDS = 30;

  private final HttpServer server;
  private final ExecutorService threads;

  private HttpPort(HttpServer server, ExecutorService threads) {
    this.server = server;
    this.threads = threads;
  }

  /**
   * Opens the port; nothing is answered before {@link #serve}.
   *
   * @param tls what it speaks TLS with, which stays the caller's; empty: it does not
   * @param threadNames what the names of its threads begin with
   * @throws IOException if it is taken
   */
  public static HttpPort open(
      InetSocketAddress address, Optional<TlsContext> tls, String threadNames) throws IOException {
    setDefault("jdk.httpserver.maxConnections", MAX_CONNECTIONS);
    setDefault("sun.net.httpserver.maxReqTime", MAX_REQUEST_SECONDS);
    setDefault("sun.net.httpserver.nodelay", true);
    HttpServer server = tls.isPresent() ? https(address, tls.get()) : HttpServer.create(address, 0);
    ExecutorService threads =
        Executors.newThreadPerTaskExecutor(Thread.ofVirtual().name(threadNames, 0).factory());
    server.setExecutor(threads);
    return new HttpPort(server, threads);
  }

  private static HttpServer https(InetSocketAddress address, TlsContext tls) throws IOException {
    HttpsServer server = HttpsServer.create(address, 0);
    server.setHttpsConfigurator(
        new HttpsConfigurator(tls.context()) {
          @Override
          public void configure(HttpsParameters parameters) {
            parameters.setSSLParameters(
                TlsEngines.accepting(tls, getSSLContext().getDefaultSSLParameters()));
          }
        });
    return server;
  }

  /** Answers from now on, whatever the path. */
  public void serve(HttpHandler handler, Filter... filters) {
    server.createContext("/", handler).getFilters().addAll(List.of(filters));
    server.start();
  }

  public int port() {
    return server.getAddress().getPort();
  }

  /** Breaks off what is being answered. */
  @Override
  public void close() {
    threads.shutdownNow();
    server.stop(0);
  }

  /** The JDK's server takes these as system properties only. */
  private static void setDefault(String name, Object value) {
    if (System.getProperty(name) == null) {
      System.setProperty(name, value.toString());
    }
  }
}
