// SPDX-License-Identifier: Apache-2.0
package io.gpupool.rest;

import com.sun.net.httpserver.Filter;
import io.gpupool.rest.call.ControlPlaneClient;
import io.gpupool.rest.http.OriginCheck;
import io.gpupool.rest.page.PageFilter;
import io.gpupool.server.inprocess.PoolStub;
import io.gpupool.server.view.PoolReader;
import io.gpupool.transport.http.HttpPort;
import io.gpupool.transport.http.MeteredRequests;
import io.gpupool.transport.metrics.ProcessMeters;
import io.gpupool.transport.tls.TlsContext;
import java.io.IOException;
import java.net.BindException;
import java.net.InetSocketAddress;
import org.jspecify.annotations.Nullable;

/** The HTTP port of a pool-server. Each request has a virtual thread of its own. */
public final class RestServer implements AutoCloseable {
  public static final int PORT = 7640;

  private final HttpPort http;

  private RestServer(HttpPort http) {
    this.http = http;
  }

  /**
   * Opens the port.
   *
   * @param tls the TLS of the port; null: it speaks none
   * @param meters of this process, for the page of metrics and for those of the port itself
   * @throws IOException if it is taken; the message is for people
   */
  public static RestServer start(
      PoolReader pool,
      PoolStub calls,
      InetSocketAddress address,
      @Nullable TlsContext tls,
      ProcessMeters meters)
      throws IOException {
    HttpPort http;
    try {
      http = HttpPort.open(address, tls, "gpupool-http-");
    } catch (BindException e) {
      throw new IOException(
          "cannot open HTTP port "
              + address.getPort()
              + " ("
              + e.getMessage()
              + "); give another with --http-port, or --no-http",
          e);
    }
    Dispatcher dispatcher =
        new Dispatcher(
            new ControlPlaneClient(pool, calls),
            OriginCheck.of(pool, address.getAddress()),
            meters);
    meters.add(http.eventLoops());
    http.serve(
        dispatcher,
        new MeteredRequests(meters.registry(), Dispatcher::route),
        Filter.beforeHandler(
            "what all answers say",
            exchange -> {
              if (tls != null) {
                exchange.getResponseHeaders().set("Strict-Transport-Security", "max-age=31536000");
              }
            }),
        new PageFilter());
    return new RestServer(http);
  }

  public int port() {
    return http.port();
  }

  /** Breaks off what is being answered. */
  @Override
  public void close() {
    http.close();
  }
}
