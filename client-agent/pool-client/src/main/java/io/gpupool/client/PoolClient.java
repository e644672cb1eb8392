// SPDX-License-Identifier: Apache-2.0
package io.gpupool.client;

import io.gpupool.client.connection.ClientSecurity;
import io.gpupool.client.connection.PoolAddress;
import io.gpupool.client.connection.PoolChannels;
import io.gpupool.client.connection.PoolConnection;
import io.gpupool.client.connection.PoolRequestException;
import io.gpupool.client.connection.TokenCredentials;
import io.gpupool.client.connection.TokenText;
import io.gpupool.client.lease.HeldLease;
import io.gpupool.client.lease.LeaseCall;
import io.gpupool.control.v1.DescribeLeaseReply;
import io.gpupool.control.v1.DescribeLeaseRequest;
import io.gpupool.control.v1.EnvironmentVariable;
import io.gpupool.control.v1.Holder;
import io.gpupool.control.v1.LeaseRequest;
import io.gpupool.control.v1.OpenSessionRequest;
import io.gpupool.control.v1.PoolAdminGrpc;
import io.gpupool.control.v1.PoolGrpc;
import io.gpupool.control.v1.Queued;
import io.gpupool.runtime.NetworkNamespace;
import io.gpupool.transport.tls.TlsContext;
import io.grpc.ManagedChannel;
import io.grpc.stub.StreamObserver;
import io.netty.channel.EventLoopGroup;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * A connection to a pool's control plane, made with the first call. Asynchronous calls complete on
 * the event loop. For any thread.
 */
public final class PoolClient implements AutoCloseable {
  private static final long CALL_SECONDS = 10;
  private static final long CLOSE_MILLIS = 500;

  private final PoolAddress address;
  private final ClientSecurity security;
  private final EventLoopGroup loops;
  private final @Nullable Supplier<String> token;
  private final ManagedChannel channel;
  private final PoolConnection connection;
  private final SessionCalls sessions;
  private final PoolGrpc.PoolStub stub;

  /**
   * Connects nothing yet.
   *
   * @param token null: none
   * @throws IllegalArgumentException if the token, or a file for TLS, cannot be used
   */
  public PoolClient(
      PoolAddress address, @Nullable String token, ClientSecurity security, EventLoopGroup loops) {
    this(address, security, loops, token == null ? null : new TokenText(token));
  }

  /**
   * Connects nothing yet; the token may be renewed.
   *
   * @param token null: none
   * @throws IllegalArgumentException if a file for TLS cannot be used
   */
  public PoolClient(
      PoolAddress address,
      ClientSecurity security,
      EventLoopGroup loops,
      @Nullable Supplier<String> token) {
    this.address = security.secured(address);
    this.security = security;
    this.loops = loops;
    this.token = token;
    TlsContext tls = security.tlsFor(address).orElse(null);
    channel =
        PoolChannels.open(
            this.address,
            tls,
            token == null ? null : new TokenCredentials(token, security.clearTokens()),
            loops);
    connection = new PoolConnection(channel, System::nanoTime);
    sessions = new SessionCalls(this.address, tls, connection);
    stub = PoolGrpc.newStub(channel);
  }

  public PoolAddress address() {
    return address;
  }

  /** The service with blocking calls, each limited to a few seconds. */
  public PoolGrpc.PoolBlockingStub blocking() {
    return PoolGrpc.newBlockingStub(channel).withDeadlineAfter(CALL_SECONDS, TimeUnit.SECONDS);
  }

  /** Returns the stub of the admins' calls, which wait for their answers. */
  public PoolAdminGrpc.PoolAdminBlockingStub admin() {
    return PoolAdminGrpc.newBlockingStub(channel).withDeadlineAfter(CALL_SECONDS, TimeUnit.SECONDS);
  }

  /**
   * Asks for a lease; cancelling the future withdraws the request.
   *
   * @return the lease, held from then on; fails with what {@link PoolRequestException#of} can tell
   */
  public CompletableFuture<HeldLease> requestLease(
      LeaseRequest request, Consumer<Queued> onQueued) {
    connection.retryNow();
    return new LeaseCall(connection, loops, onQueued, !address.others().isEmpty()).request(request);
  }

  /**
   * Holds a lease that was granted to another process.
   *
   * @return the lease, held from then on; fails if it has ended
   */
  public CompletableFuture<HeldLease> holdLease(
      String leaseId, String secret, Duration resumeWindow) {
    connection.retryNow();
    return new LeaseCall(connection, loops, queued -> {}, !address.others().isEmpty())
        .hold(leaseId, secret, resumeWindow);
  }

  /**
   * Opens a session; it must be connected soon, or the pool ends it.
   *
   * @param server of the lease; empty: whichever is asked
   * @param driverEnvironment what of the program's environment its driver is to find
   * @param abilities of the program on its call stream
   * @return fails with {@link RedirectException} where another server is to be asked
   */
  public CompletableFuture<OpenedSession> openSession(
      String leaseId,
      String secret,
      Holder client,
      String server,
      Map<String, String> driverEnvironment,
      StreamAbilities abilities) {
    OpenSessionRequest.Builder request =
        OpenSessionRequest.newBuilder()
            .setLeaseId(leaseId)
            .setSecret(secret)
            .setClient(client)
            .setServer(server)
            .setCanSeal(abilities.seals())
            .setCanShareMemory(abilities.sharesMemory())
            .setNetworkNamespace(NetworkNamespace.TEXT);
    driverEnvironment.forEach((name, value) ->
        request.addDriverEnvironment(
            EnvironmentVariable.newBuilder().setName(name).setValue(value)));
    return sessions.open(request.build());
  }

  /**
   * Asks for one more connection to a session, whose former one broke; within 5 s.
   *
   * @param server of the lease; empty: whichever is asked
   * @param abilities of the program on its call stream
   * @return fails with {@link RedirectException} where another server is to be asked
   */
  public CompletableFuture<ResumedSession> resumeSession(
      SessionHandle session,
      String server,
      Holder client,
      StreamAbilities abilities,
      SuspendedWait wait) {
    return sessions.resume(session, server, client, abilities, wait);
  }

  /** Returns a lease with its GPUs and programs. */
  public CompletableFuture<DescribeLeaseReply> describeLease(String leaseId, String secret) {
    connection.retryNow();
    CompletableFuture<DescribeLeaseReply> described = new CompletableFuture<>();
    stub.withDeadlineAfter(CALL_SECONDS, TimeUnit.SECONDS)
        .describeLease(
            DescribeLeaseRequest.newBuilder().setLeaseId(leaseId).setSecret(secret).build(),
            new StreamObserver<>() {
              @Override
              public void onNext(DescribeLeaseReply reply) {
                described.complete(reply);
              }

              @Override
              public void onError(Throwable failure) {
                described.completeExceptionally(failure);
              }

              @Override
              public void onCompleted() {}
            });
    return described;
  }

  /** Ends a session, wherever it is by now; completes when the pool has done so. */
  public CompletableFuture<Void> closeSession(SessionHandle session) {
    return connection
        .returns()
        .add(
            sessions
                .close(session)
                .exceptionallyCompose(failure ->
                    PoolRequestException.inner(failure) instanceof RedirectException other
                        ? closeSession(PoolAddress.parse(other.address()), session)
                        : CompletableFuture.failedFuture(failure)));
  }

  private CompletableFuture<Void> closeSession(PoolAddress server, SessionHandle session) {
    PoolClient elsewhere =
        new PoolClient(address.tls() ? server.overTls() : server, security, loops, token);
    return elsewhere.closeSession(session).whenComplete((closed, failure) -> elsewhere.closeSoon());
  }

  /**
   * Lets the calls that give something back finish for up to 5 s, and all other calls for a moment.
   */
  @Override
  public void close() {
    connection.returns().done().join();
    channel.shutdown();
    try {
      channel.awaitTermination(CLOSE_MILLIS, TimeUnit.MILLISECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    channel.shutdownNow();
  }

  /** Closes without waiting, for the event loop, which is that of the calls. */
  public void closeSoon() {
    connection
        .returns()
        .done()
        .thenRun(() -> {
          channel.shutdown();
          loops.next().schedule(channel::shutdownNow, CLOSE_MILLIS, TimeUnit.MILLISECONDS);
        });
  }
}
