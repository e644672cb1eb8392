// SPDX-License-Identifier: Apache-2.0
package io.gpupool.agent;

import com.google.protobuf.ByteString;
import io.gpupool.client.connection.PoolAddress;
import io.gpupool.control.v1.CloseSessionReply;
import io.gpupool.control.v1.CloseSessionRequest;
import io.gpupool.control.v1.Held;
import io.gpupool.control.v1.HoldRequest;
import io.gpupool.control.v1.Lease;
import io.gpupool.control.v1.LeaseEvent;
import io.gpupool.control.v1.LeaseRequest;
import io.gpupool.control.v1.LeaseServer;
import io.gpupool.control.v1.OpenSessionReply;
import io.gpupool.control.v1.OpenSessionRequest;
import io.gpupool.control.v1.PoolGrpc;
import io.gpupool.control.v1.ReleaseLeaseReply;
import io.gpupool.control.v1.ReleaseLeaseRequest;
import io.gpupool.control.v1.ResumeSessionReply;
import io.gpupool.control.v1.ResumeSessionRequest;
import io.gpupool.control.v1.SuspendedSession;
import io.gpupool.transport.UnixAddress;
import io.gpupool.transport.tls.TlsContext;
import io.gpupool.transport.tls.TlsEngines;
import io.gpupool.transport.tls.TlsFiles;
import io.grpc.Context;
import io.grpc.Contexts;
import io.grpc.Grpc;
import io.grpc.Metadata;
import io.grpc.Server;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerInterceptor;
import io.grpc.Status;
import io.grpc.netty.NettyServerBuilder;
import io.grpc.stub.StreamObserver;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.security.SecureRandom;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * A pool of one server, whose workers say back each line. Sessions last until they are closed, and
 * answers to resumptions are of the test's choice.
 */
final class ResumingPool implements AutoCloseable {
  /** How long it holds the answer for a suspended session, at most. */
  private static final long HELD_MILLIS = 100;

  private volatile boolean suspended;

  /** The answer to a resumption. */
  enum Answer {
    KEY,
    /** A key that the call-stream port does not take. */
    STALE_KEY,
    /** None at all, over the connection on which it is asked first. */
    SILENCE_ON_OLD_CONNECTION
  }

  private static final Context.Key<String> TOKEN = Context.key("token");
  private static final Context.Key<SocketAddress> CLIENT = Context.key("client");

  /** The lease that is granted to whoever asks. */
  private static final String LEASE = "L9";

  private static final int KEY_BYTES = 32;
  private static final SecureRandom RANDOM = new SecureRandom();

  final List<OpenSessionRequest> opened = new CopyOnWriteArrayList<>();
  final List<ResumeSessionRequest> resumed = new CopyOnWriteArrayList<>();
  final List<String> resumeTokens = new CopyOnWriteArrayList<>();
  final List<ByteString> closed = new CopyOnWriteArrayList<>();

  /** The tickets of leases that are held now by other calls than those which asked for them. */
  final List<String> held = new CopyOnWriteArrayList<>();

  final List<String> released = new CopyOnWriteArrayList<>();

  /** The tokens that a session may not be resumed by. */
  final Set<String> denied = ConcurrentHashMap.newKeySet();

  volatile Answer answer = Answer.KEY;
  volatile String elsewhere = "";

  /** The name of a socket of the server's machine. */
  volatile String localSocket = "";

  /** Whether call streams are opened by their own key, to be sealed. */
  volatile boolean seals;

  /** The number of times for which the pool cannot close a session now. */
  final AtomicInteger closesUnavailable = new AtomicInteger();

  private final Set<ByteString> live = ConcurrentHashMap.newKeySet();
  private final AtomicReference<@Nullable SocketAddress> silentTo = new AtomicReference<>();
  private final TlsFiles tls;
  private final long windowMillis;
  private final EchoPort streams;
  private final int port;
  private @Nullable Server server;

  ResumingPool(TlsFiles tls, long windowMillis) throws IOException {
    this.tls = tls;
    this.windowMillis = windowMillis;
    streams = new EchoPort(tls);
    port = start(0);
  }

  PoolAddress address() {
    return new PoolAddress("127.0.0.1", port, !tls.areNone());
  }

  /** Takes call streams by a unix socket, which answers call by this name. */
  void listen(String address, String name) {
    streams.listen(new UnixAddress(address));
    localSocket = name;
  }

  /** Returns how many call streams have come by unix sockets. */
  int localStreams() {
    return streams.localStreams();
  }

  /** Breaks all call streams. */
  void cut() {
    streams.cut();
  }

  /** Breaks so many call streams before they are open. */
  void breakNext(int connections) {
    streams.breakNext(connections);
  }

  /** Refuses so many call streams as a server that is about to stop. */
  void refuseNext(int connections) {
    streams.refuseNext(connections);
  }

  /** Stops answering calls; sessions and call streams stay. */
  void leave() throws InterruptedException {
    Objects.requireNonNull(server).shutdownNow().awaitTermination(5, TimeUnit.SECONDS);
  }

  /** Answers calls again, at the same port. */
  void comeBack() throws IOException {
    start(port);
  }

  /** Forgets all sessions. */
  void endSessions() {
    live.clear();
  }

  /** Has its sessions be suspended until a program wants one. */
  void suspend() {
    suspended = true;
  }

  /** Takes the sessions of another server. */
  void takeSessionsOf(ResumingPool other) {
    live.addAll(other.live);
  }

  private int start(int wanted) throws IOException {
    NettyServerBuilder builder =
        NettyServerBuilder.forAddress(
                new InetSocketAddress(InetAddress.getLoopbackAddress(), wanted))
            .intercept(new Peers())
            .addService(new Sessions());
    if (!tls.areNone()) {
      builder.sslContext(TlsEngines.http2(TlsContext.of(tls), false));
    }
    Server started = builder.build().start();
    server = started;
    return started.getPort();
  }

  @Override
  public void close() {
    Objects.requireNonNull(server).shutdownNow();
    streams.close();
  }

  private static ByteString key() {
    byte[] bytes = new byte[KEY_BYTES];
    RANDOM.nextBytes(bytes);
    return ByteString.copyFrom(bytes);
  }

  /** Keeps who calls, and by which token. */
  private static final class Peers implements ServerInterceptor {
    private static final Metadata.Key<String> AUTHORIZATION =
        Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER);

    @Override
    public <Q, A> ServerCall.Listener<Q> interceptCall(
        ServerCall<Q, A> call, Metadata headers, ServerCallHandler<Q, A> next) {
      Context context =
          Context.current()
              .withValues(
                  TOKEN,
                  Objects.requireNonNullElse(headers.get(AUTHORIZATION), ""),
                  CLIENT,
                  call.getAttributes().get(Grpc.TRANSPORT_ATTR_REMOTE_ADDR));
      return Contexts.interceptCall(context, call, headers, next);
    }
  }

  /** A call that holds a lease. */
  private final class Hold implements StreamObserver<HoldRequest> {
    private final StreamObserver<LeaseEvent> events;
    private String ticket = "";

    Hold(StreamObserver<LeaseEvent> events) {
      this.events = events;
    }

    @Override
    public void onNext(HoldRequest request) {
      ticket = request.getLeaseId() + "." + request.getSecret();
      if (!ticket.equals(LEASE + ".made")) {
        events.onError(Status.PERMISSION_DENIED.withDescription("unknown").asRuntimeException());
        return;
      }
      held.add(ticket);
      events.onNext(LeaseEvent.newBuilder().setHeld(Held.getDefaultInstance()).build());
    }

    @Override
    public void onError(Throwable cause) {
      held.remove(ticket);
    }

    @Override
    public void onCompleted() {
      held.remove(ticket);
    }
  }

  private final class Sessions extends PoolGrpc.PoolImplBase {
    @Override
    public void requestLease(LeaseRequest request, StreamObserver<LeaseEvent> events) {
      events.onNext(
          LeaseEvent.newBuilder()
              .setGranted(Lease.newBuilder().setId(LEASE).setSecret("made"))
              .build());
    }

    @Override
    public StreamObserver<HoldRequest> holdLease(StreamObserver<LeaseEvent> events) {
      return new Hold(events);
    }

    @Override
    public void releaseLease(ReleaseLeaseRequest request, StreamObserver<ReleaseLeaseReply> reply) {
      released.add(request.getLeaseId() + "." + request.getSecret());
      reply.onNext(ReleaseLeaseReply.getDefaultInstance());
      reply.onCompleted();
    }

    @Override
    public void openSession(OpenSessionRequest request, StreamObserver<OpenSessionReply> reply) {
      opened.add(request);
      ByteString id = key().substring(0, 16);
      ByteString key = key();
      live.add(id.concat(key));
      OpenSessionReply.Builder opening = OpenSessionReply.newBuilder();
      if (seals) {
        opening.setSealSecret(key()).setConnectKey(key());
      }
      streams.accept(id, seals ? opening.getConnectKey() : key);
      reply.onNext(
          opening
              .setSessionId(id)
              .setSessionKey(key)
              .setPeerKey(key())
              .setCallStreamPort(streams.port())
              .setLocalSocket(localSocket)
              .setResumeWindowMillis(windowMillis)
              .addServers(LeaseServer.newBuilder().setName("a"))
              .build());
      reply.onCompleted();
    }

    @Override
    public void resumeSession(
        ResumeSessionRequest request, StreamObserver<ResumeSessionReply> reply) {
      resumed.add(request);
      resumeTokens.add(TOKEN.get());
      SocketAddress client = CLIENT.get();
      if (answer == Answer.SILENCE_ON_OLD_CONNECTION
          && (silentTo.compareAndSet(null, client) || client.equals(silentTo.get()))) {
        return;
      }
      if (denied.contains(TOKEN.get())) {
        reply.onError(
            Status.PERMISSION_DENIED
                .withDescription("the session is another's")
                .asRuntimeException());
        return;
      }
      if (!elsewhere.isEmpty()) {
        reply.onNext(ResumeSessionReply.newBuilder().setElsewhere(elsewhere).build());
        reply.onCompleted();
        return;
      }
      if (!live.contains(request.getSessionId().concat(request.getSessionKey()))) {
        reply.onError(
            Status.NOT_FOUND
                .withDescription("no such session; it may have ended")
                .asRuntimeException());
        return;
      }
      if (suspended && request.getWake()) {
        suspended = false;
      }
      if (suspended) {
        ResumeSessionReply held =
            ResumeSessionReply.newBuilder()
                .setSuspended(
                    SuspendedSession.newBuilder().setReason("it sleeps").setWakesOnCall(true))
                .build();
        CompletableFuture.delayedExecutor(
                Math.min(request.getWaitMillis(), HELD_MILLIS), TimeUnit.MILLISECONDS)
            .execute(() -> {
              reply.onNext(held);
              reply.onCompleted();
            });
        return;
      }
      ByteString key = key();
      if (answer != Answer.STALE_KEY) {
        streams.accept(request.getSessionId(), key);
      }
      reply.onNext(
          ResumeSessionReply.newBuilder()
              .setResumeKey(key)
              .setLocalSocket(localSocket)
              .setCallStreamPort(streams.port())
              .build());
      reply.onCompleted();
    }

    @Override
    public void closeSession(CloseSessionRequest request, StreamObserver<CloseSessionReply> reply) {
      if (closesUnavailable.getAndUpdate(times -> Math.max(0, times - 1)) > 0) {
        reply.onError(Status.UNAVAILABLE.withDescription("out of service").asRuntimeException());
        return;
      }
      closed.add(request.getSessionId());
      live.remove(request.getSessionId().concat(request.getSessionKey()));
      reply.onNext(CloseSessionReply.getDefaultInstance());
      reply.onCompleted();
    }
  }
}
