// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server;

import io.gpupool.control.v1.Holder;
import io.gpupool.control.v1.Lease;
import io.gpupool.control.v1.LeaseEvent;
import io.gpupool.control.v1.LeaseRequest;
import io.gpupool.control.v1.OpenSessionReply;
import io.gpupool.control.v1.OpenSessionRequest;
import io.gpupool.control.v1.PoolAdminGrpc;
import io.gpupool.control.v1.PoolGrpc;
import io.gpupool.control.v1.ResumeSessionReply;
import io.gpupool.control.v1.ResumeSessionRequest;
import io.gpupool.server.driver.DriverOptions;
import io.gpupool.server.gpu.GpuSpec;
import io.gpupool.server.limits.ServerLimits;
import io.gpupool.server.oidc.KubernetesOptions;
import io.gpupool.server.oidc.OidcOptions;
import io.gpupool.server.options.AuthOptions;
import io.gpupool.server.options.GpuOptions;
import io.gpupool.server.options.LocalSocketOptions;
import io.gpupool.server.options.NameOptions;
import io.gpupool.server.options.PortOptions;
import io.gpupool.server.options.ServerOptions;
import io.gpupool.server.options.StateOptions;
import io.gpupool.server.options.TlsOptions;
import io.gpupool.server.options.WorkerOptions;
import io.gpupool.server.state.etcd.EtcdOptions;
import io.gpupool.server.worker.WorkerCommand;
import io.gpupool.transport.tls.TlsFiles;
import io.gpupool.wire.ClientHello;
import io.gpupool.wire.ServerHello;
import io.gpupool.wire.SessionId;
import io.gpupool.wire.SessionKey;
import io.grpc.ClientInterceptor;
import io.grpc.Context;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.netty.NettyChannelBuilder;
import io.grpc.stub.MetadataUtils;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** A pool-server with workers of the test's own, and a client of it. */
public final class Pool implements AutoCloseable {
  public final PoolServer server;
  public final PoolGrpc.PoolBlockingStub stub;
  private final ManagedChannel channel;

  public Pool(String gpus, int spares) throws IOException {
    this(gpus, spares, 0);
  }

  /** On a control port of the test's choice. */
  public Pool(String gpus, int spares, int controlPort) throws IOException {
    this(gpus, spares, controlPort, null, AuthOptions.Method.none, null);
  }

  /** One that can be started again: on a port of the test's choice, with what is in this folder. */
  public static Pool lasting(String gpus, int controlPort, Path state) throws IOException {
    return new Pool(gpus, 0, controlPort, state, AuthOptions.Method.none, null);
  }

  private Pool(
      String gpus,
      int spares,
      int controlPort,
      @Nullable Path state,
      AuthOptions.Method auth,
      @Nullable OidcOptions oidc)
      throws IOException {
    this(
        gpus,
        spares,
        controlPort,
        "test",
        state,
        null,
        TlsFiles.NONE,
        auth,
        oidc,
        null,
        ServerLimits.DEFAULT);
  }

  /** One of several servers of a pool. */
  public static Pool ofSeveral(String gpus, String name, EtcdOptions etcd, TlsFiles tls)
      throws IOException {
    return new Pool(
        gpus,
        0,
        0,
        name,
        null,
        etcd,
        tls,
        AuthOptions.Method.none,
        null,
        null,
        ServerLimits.DEFAULT);
  }

  private Pool(
      String gpus,
      int spares,
      int controlPort,
      String name,
      @Nullable Path state,
      @Nullable EtcdOptions etcd,
      TlsFiles tls,
      AuthOptions.Method auth,
      @Nullable OidcOptions oidc,
      @Nullable KubernetesOptions kubernetes,
      ServerLimits limits)
      throws IOException {
    server =
        PoolServer.start(
            new ServerOptions(
                new GpuOptions(
                    new GpuSpec(gpus),
                    DriverOptions.DEFAULT,
                    GpuOptions.MissingPtx.fail,
                    Map.of("zone", "eu")),
                new PortOptions(
                    InetAddress.getLoopbackAddress(), controlPort, 0, LocalSocketOptions.AUTO),
                new NameOptions(name, null),
                new StateOptions(
                    state, etcd, null, null, state == null ? null : state.resolve("run")),
                new TlsOptions(tls, null, false, false),
                new AuthOptions(auth, oidc, kubernetes),
                new WorkerOptions(
                    WorkerCommand.onThisJava(
                        System.getProperty("java.class.path"),
                        List.of(
                            "-XX:TieredStopAtLevel=1",
                            "--add-opens=java.base/java.io=ALL-UNNAMED")),
                    spares,
                    true),
                limits));
    channel =
        NettyChannelBuilder.forAddress("127.0.0.1", server.controlPort()).usePlaintext().build();
    stub = PoolGrpc.newBlockingStub(channel).withInterceptors(new Deadlines());
  }

  /** With tenants and tokens, which last in this folder. */
  static Pool withTokens(Path state) throws IOException {
    return new Pool("soft:1", 0, 0, state, AuthOptions.Method.tokens, null);
  }

  /** The same, with limits of the test's choice. */
  static Pool withTokens(Path state, ServerLimits limits) throws IOException {
    return new Pool(
        "soft:1",
        0,
        0,
        "test",
        state,
        null,
        TlsFiles.NONE,
        AuthOptions.Method.tokens,
        null,
        null,
        limits);
  }

  /** The same, with tokens of an OIDC issuer, too. */
  static Pool withIssuer(Path state, OidcOptions oidc) throws IOException {
    return new Pool("soft:1", 0, 0, state, AuthOptions.Method.tokens, oidc);
  }

  /** The same, for the pods of a cluster. */
  public static Pool forCluster(Path state, KubernetesOptions cluster) throws IOException {
    return forCluster(state, cluster, 0);
  }

  /** The same, on a control port of the test's choice. */
  public static Pool forCluster(Path state, KubernetesOptions cluster, int controlPort)
      throws IOException {
    return new Pool(
        "soft:1",
        0,
        controlPort,
        "test",
        state,
        null,
        TlsFiles.NONE,
        AuthOptions.Method.tokens,
        null,
        cluster,
        ServerLimits.DEFAULT);
  }

  ManagedChannel channel() {
    return channel;
  }

  public PoolGrpc.PoolBlockingStub as(String token) {
    return stub.withInterceptors(bearer(token));
  }

  public PoolAdminGrpc.PoolAdminBlockingStub admin(String token) {
    return PoolAdminGrpc.newBlockingStub(channel)
        .withDeadlineAfter(60, TimeUnit.SECONDS)
        .withInterceptors(bearer(token));
  }

  /** Shows a token with each call. */
  public static ClientInterceptor bearer(String token) {
    Metadata headers = new Metadata();
    headers.put(
        Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER), "Bearer " + token);
    return MetadataUtils.newAttachHeadersInterceptor(headers);
  }

  /** A lease whose stream is open. */
  record Held(Lease lease, Context.CancellableContext stream, Iterator<LeaseEvent> events) {}

  Iterator<LeaseEvent> request(LeaseRequest request) {
    return stub.requestLease(request);
  }

  Held lease(double fraction) {
    return lease(LeaseRequest.newBuilder().setFraction(fraction));
  }

  Held lease(LeaseRequest.Builder request) {
    Context.CancellableContext stream = Context.current().withCancellation();
    Context before = stream.attach();
    try {
      Iterator<LeaseEvent> events =
          stub.requestLease(
              request.setHolder(Holder.newBuilder().setPid(1).setProgram("test")).build());
      return new Held(events.next().getGranted(), stream, events);
    } finally {
      stream.detach(before);
    }
  }

  public OpenSessionReply session(Lease lease) {
    return stub.openSession(
        OpenSessionRequest.newBuilder()
            .setLeaseId(lease.getId())
            .setSecret(lease.getSecret())
            .build());
  }

  /** A call stream whose handshake was answered. */
  public Stream connect(OpenSessionReply session) throws Exception {
    Stream stream = new Stream(server.dataPort());
    stream.socket.getOutputStream().write(hello(session).encode());
    return stream;
  }

  /** A further call stream of a session, with the key of a call to {@link #resume}. */
  public Stream connect(OpenSessionReply opened, byte[] resumeKey) throws Exception {
    Stream stream = new Stream(server.dataPort());
    stream
        .socket
        .getOutputStream()
        .write(
            ClientHello.resuming(
                    1,
                    1,
                    SessionId.ofBytes(opened.getSessionId().toByteArray()),
                    SessionKey.ofBytes(resumeKey))
                .encode());
    return stream;
  }

  /** The right to connect once more to a session. */
  public ResumeSessionReply resume(OpenSessionReply opened) {
    return stub.resumeSession(
        ResumeSessionRequest.newBuilder()
            .setSessionId(opened.getSessionId())
            .setSessionKey(opened.getSessionKey())
            .build());
  }

  static ClientHello hello(OpenSessionReply session) throws Exception {
    return new ClientHello(
        1,
        1,
        SessionId.ofBytes(session.getSessionId().toByteArray()),
        SessionKey.ofBytes(session.getSessionKey().toByteArray()));
  }

  @Override
  public void close() {
    channel.shutdownNow();
    server.close();
  }

  /** The program's end of a call stream. */
  public static final class Stream implements AutoCloseable {
    final Socket socket;
    private @Nullable BufferedReader lines;

    Stream(int port) throws IOException {
      socket = new Socket(InetAddress.getLoopbackAddress(), port);
      socket.setSoTimeout(30_000);
      socket.setTcpNoDelay(true);
    }

    public ServerHello answer() throws Exception {
      byte[] header = socket.getInputStream().readNBytes(ServerHello.HEADER_BYTES);
      byte[] text = socket.getInputStream().readNBytes(ServerHello.textBytes(header));
      byte[] all = java.util.Arrays.copyOf(header, header.length + text.length);
      System.arraycopy(text, 0, all, header.length, text.length);
      return ServerHello.decode(all);
    }

    /** Sends a line to the test worker and reads its answer; null when the stream has ended. */
    public @Nullable String say(String line) throws IOException {
      if (lines == null) {
        lines =
            new BufferedReader(
                new InputStreamReader(socket.getInputStream(), StandardCharsets.UTF_8));
      }
      socket.getOutputStream().write((line + "\n").getBytes(StandardCharsets.UTF_8));
      return lines.readLine();
    }

    @Override
    public void close() throws IOException {
      socket.close();
    }
  }
}
