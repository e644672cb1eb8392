// SPDX-License-Identifier: Apache-2.0
package io.gpupool.rest;

import com.sun.net.httpserver.HttpServer;
import com.sun.net.httpserver.HttpsConfigurator;
import com.sun.net.httpserver.HttpsParameters;
import com.sun.net.httpserver.HttpsServer;
import io.gpupool.rest.page.PageFilter;
import io.gpupool.server.calls.Calls;
import io.gpupool.server.service.PoolReader;
import io.gpupool.transport.tls.TlsContext;
import io.gpupool.transport.tls.TlsEngines;
import java.io.IOException;
import java.net.BindException;
import java.net.InetSocketAddress;
import java.util.Optional;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/** The HTTP port of a pool-server. Each request has a virtual thread of its own. */
public final class RestServer implements AutoCloseable {
  public static final int PORT = 7640;
  private static final int MAX_CONNECTIONS = 512;
  private static final int MAX_REQUEST_SECONDS = 30;

  private final HttpServer server;
  private final ExecutorService threads;

  private RestServer(HttpServer server, ExecutorService threads) {
    this.server = server;
    this.threads = threads;
  }

  /**
   * Opens the port in clear text.
   *
   * @throws IOException if it is taken; the message is for people
   */
  public static RestServer start(PoolReader pool, Calls calls, InetSocketAddress address)
      throws IOException {
    return start(pool, calls, address, Optional.empty());
  }

  /**
   * Opens the port.
   *
   * @param tls what it speaks TLS with; empty: it does not
   * @throws IOException if it is taken; the message is for people
   */
  public static RestServer start(
      PoolReader pool, Calls calls, InetSocketAddress address, Optional<TlsContext> tls)
      throws IOException {
    setDefault("jdk.httpserver.maxConnections", MAX_CONNECTIONS);
    setDefault("sun.net.httpserver.maxReqTime", MAX_REQUEST_SECONDS);
    setDefault("sun.net.httpserver.nodelay", true);
    HttpServer server;
    try {
      server = tls.isPresent() ? https(address, tls.get()) : HttpServer.create(address, 0);
    } catch (BindException e) {
      throw new IOException(
          "cannot open HTTP port "
              + address.getPort()
              + " ("
              + e.getMessage()
              + "); give another with --http-port, or --no-http",
          e);
    }
    ExecutorService threads =
        Executors.newThreadPerTaskExecutor(Thread.ofVirtual().name("gpupool-http-", 0).factory());
    server.setExecutor(threads);
    Dispatcher dispatcher =
        new Dispatcher(new Pool(pool, calls), Origins.of(pool, address.getAddress()));
    server.createContext("/", dispatcher).getFilters().add(new PageFilter());
    server.start();
    return new RestServer(server, threads);
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
