// SPDX-License-Identifier: Apache-2.0
package io.gpupool.transport.tls;

import java.security.KeyManagementException;
import java.security.SecureRandom;
import java.security.Security;
import java.util.function.Supplier;
import javax.net.ssl.KeyManager;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLContextSpi;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLServerSocketFactory;
import javax.net.ssl.SSLSessionContext;
import javax.net.ssl.SSLSocketFactory;
import javax.net.ssl.TrustManager;

/**
 * A context that does everything by another, which may be a new one each time: so that libraries
 * that keep a context for good use the present one. A new one knows no sessions of the old one;
 * nobody gets in on a certificate that is trusted no more.
 */
final class CurrentContext extends SSLContext {
  CurrentContext(Supplier<SSLContext> current) {
    super(new Delegate(current), Security.getProvider("SunJSSE"), "TLS");
  }

  private static final class Delegate extends SSLContextSpi {
    private final Supplier<SSLContext> current;

    Delegate(Supplier<SSLContext> current) {
      this.current = current;
    }

    @Override
    protected void engineInit(KeyManager[] keys, TrustManager[] trust, SecureRandom random)
        throws KeyManagementException {
      throw new KeyManagementException("it is set up by files");
    }

    @Override
    protected SSLSocketFactory engineGetSocketFactory() {
      return current.get().getSocketFactory();
    }

    @Override
    protected SSLServerSocketFactory engineGetServerSocketFactory() {
      return current.get().getServerSocketFactory();
    }

    @Override
    protected SSLEngine engineCreateSSLEngine() {
      return current.get().createSSLEngine();
    }

    @Override
    protected SSLEngine engineCreateSSLEngine(String host, int port) {
      return current.get().createSSLEngine(host, port);
    }

    @Override
    protected SSLSessionContext engineGetServerSessionContext() {
      return current.get().getServerSessionContext();
    }

    @Override
    protected SSLSessionContext engineGetClientSessionContext() {
      return current.get().getClientSessionContext();
    }

    @Override
    protected SSLParameters engineGetDefaultSSLParameters() {
      return current.get().getDefaultSSLParameters();
    }

    @Override
    protected SSLParameters engineGetSupportedSSLParameters() {
      return current.get().getSupportedSSLParameters();
    }
  }
}
