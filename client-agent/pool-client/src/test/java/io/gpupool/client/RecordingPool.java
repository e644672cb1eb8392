// SPDX-License-Identifier: Apache-2.0
package io.gpupool.client;

import io.gpupool.client.connection.PoolAddress;
import io.gpupool.transport.tls.TlsContext;
import io.gpupool.transport.tls.TlsEngines;
import io.gpupool.transport.tls.TlsFiles;
import io.grpc.HandlerRegistry;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Server;
import io.grpc.ServerCall;
import io.grpc.ServerMethodDefinition;
import io.grpc.Status;
import io.grpc.netty.NettyServerBuilder;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;

/** A server that keeps the authorization of each call and answers that it is unavailable. */
public final class RecordingPool implements AutoCloseable {
  /** The authorization of a call that brought none. */
  public static final String NONE = "none";

  private static final Metadata.Key<String> AUTHORIZATION =
      Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER);

  private final List<String> authorizations = new CopyOnWriteArrayList<>();
  private final Server server;
  private final boolean tls;

  /**
   * Listens on loopback.
   *
   * @param delayMillis how long each call waits for its answer
   */
  public RecordingPool(TlsFiles files, long delayMillis) throws IOException {
    NettyServerBuilder builder =
        NettyServerBuilder.forAddress(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
    tls = !files.areNone();
    if (tls) {
      builder.sslContext(TlsEngines.http2(TlsContext.of(files), false));
    }
    server = builder.fallbackHandlerRegistry(new AnyMethod(delayMillis)).build().start();
  }

  public PoolAddress address() {
    return new PoolAddress("127.0.0.1", server.getPort(), tls);
  }

  public List<String> authorizations() {
    return authorizations;
  }

  @Override
  public void close() {
    server.shutdownNow();
  }

  private final class AnyMethod extends HandlerRegistry {
    private final long delayMillis;

    AnyMethod(long delayMillis) {
      this.delayMillis = delayMillis;
    }

    @Override
    public ServerMethodDefinition<?, ?> lookupMethod(String name, String authority) {
      Bytes bytes = new Bytes();
      return ServerMethodDefinition.create(
          MethodDescriptor.newBuilder(bytes, bytes)
              .setFullMethodName(name)
              .setType(MethodDescriptor.MethodType.UNKNOWN)
              .build(),
          this::refuse);
    }

    private ServerCall.Listener<byte[]> refuse(ServerCall<byte[], byte[]> call, Metadata headers) {
      authorizations.add(Objects.requireNonNullElse(headers.get(AUTHORIZATION), NONE));
      try {
        TimeUnit.MILLISECONDS.sleep(delayMillis);
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      }
      call.close(Status.UNAVAILABLE.withDescription("out of service"), new Metadata());
      return new ServerCall.Listener<>() {};
    }
  }

  private static final class Bytes implements MethodDescriptor.Marshaller<byte[]> {
    @Override
    public InputStream stream(byte[] value) {
      return new ByteArrayInputStream(value);
    }

    @Override
    public byte[] parse(InputStream stream) {
      try {
        return stream.readAllBytes();
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }
  }
}
