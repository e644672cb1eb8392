// SPDX-License-Identifier: Apache-2.0
package io.gpupool.transport.tls;

import io.netty.handler.ssl.ApplicationProtocolConfig;
import io.netty.handler.ssl.ClientAuth;
import io.netty.handler.ssl.IdentityCipherSuiteFilter;
import io.netty.handler.ssl.JdkSslContext;
import io.netty.handler.ssl.SslContext;
import io.netty.handler.ssl.SslHandler;
import java.util.Comparator;
import java.util.stream.Stream;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLParameters;

/** TLS for Netty's channels, by the JDK's engine: TLS 1.3 or 1.2. */
public final class TlsEngines {
  private static final String[] PROTOCOLS = {"TLSv1.3", "TLSv1.2"};

  /** Without a common protocol the handshake goes on, as gRPC wants it, and HTTP/2 then says no. */
  private static final ApplicationProtocolConfig HTTP_2 =
      new ApplicationProtocolConfig(
          ApplicationProtocolConfig.Protocol.ALPN,
          ApplicationProtocolConfig.SelectorFailureBehavior.NO_ADVERTISE,
          ApplicationProtocolConfig.SelectedListenerFailureBehavior.ACCEPT,
          "h2");

  private TlsEngines() {}

  /** Returns the context for gRPC, which verifies the server's name itself. */
  public static SslContext http2(TlsContext tls, boolean client) {
    return new JdkSslContext(
        tls.context(),
        client,
        null,
        IdentityCipherSuiteFilter.INSTANCE,
        HTTP_2,
        !client && tls.asksForCertificates() ? ClientAuth.REQUIRE : ClientAuth.NONE,
        PROTOCOLS.clone(),
        false);
  }

  /** Returns the handler of a connection that was accepted. */
  public static SslHandler accepting(TlsContext tls) {
    SSLEngine engine = tls.context().createSSLEngine();
    engine.setUseClientMode(false);
    preferShortKeys(engine);
    engine.setSSLParameters(accepting(tls, engine.getSSLParameters()));
    return new SslHandler(engine);
  }

  /** Returns the parameters of such connections, for servers that take them. */
  public static SSLParameters accepting(TlsContext tls, SSLParameters parameters) {
    parameters.setProtocols(PROTOCOLS.clone());
    parameters.setNeedClientAuth(tls.asksForCertificates());
    return parameters;
  }

  /** Returns the handler of a connection to a server whose certificate must be one of this host. */
  public static SslHandler connecting(TlsContext tls, String host, int port) {
    SSLEngine engine = tls.context().createSSLEngine(host, port);
    engine.setUseClientMode(true);
    preferShortKeys(engine);
    engine.setSSLParameters(connecting(engine.getSSLParameters()));
    return new SslHandler(engine);
  }

  /** AES with 128 bits before others, which is as good for this and a quarter faster. */
  private static void preferShortKeys(SSLEngine engine) {
    engine.setEnabledCipherSuites(
        Stream.of(engine.getEnabledCipherSuites())
            .sorted(Comparator.comparing(suite -> !suite.contains("_AES_128_GCM_")))
            .toArray(String[]::new));
  }

  static SSLParameters connecting(SSLParameters parameters) {
    parameters.setProtocols(PROTOCOLS.clone());
    parameters.setEndpointIdentificationAlgorithm("HTTPS");
    return parameters;
  }
}
