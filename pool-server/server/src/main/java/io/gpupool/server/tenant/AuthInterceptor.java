// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.tenant;

import io.gpupool.control.keda.ExternalScalerGrpc;
import io.gpupool.control.v1.PoolAdminGrpc;
import io.gpupool.control.v1.PoolGrpc;
import io.gpupool.runtime.Timers;
import io.gpupool.server.identity.Principal;
import io.gpupool.server.identity.Role;
import io.grpc.Context;
import io.grpc.Contexts;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerInterceptor;
import io.grpc.Status;
import java.net.SocketAddress;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * An interceptor that lets calls through to callers who may make them. A method that is not in its
 * table is closed to all. gRPC calls it on the control thread.
 */
public final class AuthInterceptor implements ServerInterceptor {
  /** Who calls; set for every call that needs a token. */
  private static final Context.Key<Principal> PRINCIPAL = Context.key("principal");

  private static final Metadata.Key<String> AUTHORIZATION =
      Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER);
  private static final String SCHEME = "bearer ";
  private static final Logger LOG = LoggerFactory.getLogger(AuthInterceptor.class);

  /** The least role that may call a method; empty: whoever can connect. */
  private static final Map<String, Optional<Role>> TABLE = table();

  /** A service whose callers can show a token only in the request; it looks for one there. */
  private static final String SHOWN_IN_REQUEST = ExternalScalerGrpc.SERVICE_NAME + "/";

  /** What pods may call, to use their own leases. */
  private static final Set<String> OPEN_TO_PODS =
      Set.of(
          PoolGrpc.getDescribeLeaseMethod().getFullMethodName(),
          PoolGrpc.getOpenSessionMethod().getFullMethodName(),
          PoolGrpc.getResumeSessionMethod().getFullMethodName(),
          PoolGrpc.getCloseSessionMethod().getFullMethodName());

  private final Tokens tokens;
  private final Executor control;
  private final Timers timers;
  private final Consumer<SocketAddress> onProven;
  private final CallLimiter calls;
  private final AuthFailureThrottle wrong;

  /**
   * For all services of a server.
   *
   * @param onProven told of the connections on which somebody has shown a valid token
   */
  public AuthInterceptor(
      Tokens tokens, Executor control, Timers timers, Consumer<SocketAddress> onProven) {
    this.tokens = tokens;
    this.control = control;
    this.timers = timers;
    this.onProven = onProven;
    calls = new CallLimiter(timers);
    wrong = new AuthFailureThrottle(timers::nowNanos);
  }

  private static Map<String, Optional<Role>> table() {
    Map<String, Optional<Role>> table = new HashMap<>();
    // Says which versions the server speaks, before anyone can prove anything.
    table.put(PoolGrpc.getVersionMethod().getFullMethodName(), Optional.empty());
    put(
        table,
        Role.READ_ONLY,
        PoolGrpc.getListServersMethod(),
        PoolGrpc.getListGpusMethod(),
        PoolGrpc.getListLeasesMethod(),
        PoolGrpc.getListQueueMethod(),
        PoolGrpc.getListSessionsMethod(),
        PoolAdminGrpc.getListPartitionsMethod(),
        PoolAdminGrpc.getListTenantsMethod(),
        ExternalScalerGrpc.getIsActiveMethod(),
        ExternalScalerGrpc.getStreamIsActiveMethod(),
        ExternalScalerGrpc.getGetMetricSpecMethod(),
        ExternalScalerGrpc.getGetMetricsMethod());
    put(
        table,
        Role.USER,
        PoolGrpc.getRequestLeaseMethod(),
        PoolGrpc.getHoldLeaseMethod(),
        PoolGrpc.getUpdateLeaseMethod(),
        PoolGrpc.getMoveLeaseMethod(),
        PoolGrpc.getSuspendLeaseMethod(),
        PoolGrpc.getResumeLeaseMethod(),
        PoolGrpc.getReleaseLeaseMethod(),
        PoolGrpc.getDescribeLeaseMethod(),
        PoolGrpc.getOpenSessionMethod(),
        PoolGrpc.getResumeSessionMethod(),
        PoolGrpc.getEndSessionMethod(),
        PoolGrpc.getCloseSessionMethod());
    put(
        table,
        Role.ADMIN,
        PoolAdminGrpc.getCreatePartitionMethod(),
        PoolAdminGrpc.getResizePartitionMethod(),
        PoolAdminGrpc.getDeletePartitionMethod(),
        PoolAdminGrpc.getCreateTenantMethod(),
        PoolAdminGrpc.getSetQuotaMethod(),
        PoolAdminGrpc.getDeleteTenantMethod(),
        PoolAdminGrpc.getListTokensMethod(),
        PoolAdminGrpc.getCreateTokenMethod(),
        PoolAdminGrpc.getRevokeTokenMethod(),
        PoolAdminGrpc.getDrainServerMethod(),
        PoolAdminGrpc.getUncordonServerMethod(),
        PoolAdminGrpc.getListAuditMethod());
    return Map.copyOf(table);
  }

  private static void put(
      Map<String, Optional<Role>> table, Role role, MethodDescriptor<?, ?>... methods) {
    for (MethodDescriptor<?, ?> method : methods) {
      table.put(method.getFullMethodName(), Optional.of(role));
    }
  }

  /** The caller of the call that is being served. */
  public static Principal principal() {
    return PRINCIPAL.get();
  }

  @Override
  public <Q, A> ServerCall.Listener<Q> interceptCall(
      ServerCall<Q, A> call, Metadata headers, ServerCallHandler<Q, A> next) {
    String method = call.getMethodDescriptor().getFullMethodName();
    Optional<Role> least = TABLE.get(method);
    if (least == null) {
      return refuse(call, Status.PERMISSION_DENIED, "no caller may call " + method);
    }
    if (least.isEmpty()) {
      return calls.unproven(call, () -> next.startCall(call, headers));
    }
    String shown = token(headers).orElse(null);
    if (shown == null && method.startsWith(SHOWN_IN_REQUEST)) {
      return calls.unproven(call, () -> next.startCall(call, headers));
    }
    CompletableFuture<Void> ready = tokens.ready(shown);
    if (ready.isDone()) {
      return interceptCall(call, headers, next, shown, least.get());
    }
    DelayedListener<Q> waiting = new DelayedListener<>();
    ready.whenCompleteAsync(
        (done, failure) -> {
          try {
            waiting.pass(interceptCall(call, headers, next, shown, least.get()));
          } catch (RuntimeException e) {
            // Here gRPC does not see it, and the caller would wait for ever.
            LOG.error("{} failed", method, e);
            call.close(
                Status.INTERNAL.withDescription("the server has failed; its log says how"),
                new Metadata());
          }
        },
        control);
    return waiting;
  }

  private <Q, A> ServerCall.Listener<Q> interceptCall(
      ServerCall<Q, A> call,
      Metadata headers,
      ServerCallHandler<Q, A> next,
      @Nullable String shown,
      Role least) {
    Optional<Principal> principal = tokens.authenticate(shown);
    if (principal.isEmpty()) {
      return refuseUnknown(call, shown);
    }
    SocketAddress remote = CallLimiter.remote(call);
    if (remote != null) {
      onProven.accept(remote);
    }
    boolean open =
        principal.get().role() == Role.POD
            && OPEN_TO_PODS.contains(call.getMethodDescriptor().getFullMethodName());
    if (!open && !principal.get().role().covers(least)) {
      return refuse(
          call,
          Status.PERMISSION_DENIED,
          "the role of the token is "
              + principal.get().role().text()
              + ", and this takes "
              + least.text());
    }
    Context context = Context.current().withValue(PRINCIPAL, principal.get());
    return calls.proven(
        call, principal.get(), () -> Contexts.interceptCall(context, call, headers, next));
  }

  /** Late, where its address has shown many wrong tokens. */
  private <Q, A> ServerCall.Listener<Q> refuseUnknown(
      ServerCall<Q, A> call, @Nullable String shown) {
    String reason = tokens.rejectionReason(shown);
    SocketAddress remote = CallLimiter.remote(call);
    if (shown == null || remote == null || wrong.note(remote) != AuthFailureThrottle.Answer.LATE) {
      return refuse(call, Status.UNAUTHENTICATED, reason);
    }
    timers.after(
        AuthFailureThrottle.DELAY_MILLIS,
        () -> {
          wrong.answered();
          refuse(call, Status.UNAUTHENTICATED, reason);
        });
    return new ServerCall.Listener<>() {};
  }

  private static Optional<String> token(Metadata headers) {
    return Optional.ofNullable(headers.get(AUTHORIZATION))
        .filter(value -> value.regionMatches(true, 0, SCHEME, 0, SCHEME.length()))
        .map(value -> value.substring(SCHEME.length()).strip());
  }

  private static <Q, A> ServerCall.Listener<Q> refuse(
      ServerCall<Q, A> call, Status status, String why) {
    call.close(status.withDescription(why), new Metadata());
    return new ServerCall.Listener<>() {};
  }
}
