// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.tenant;

import io.gpupool.runtime.Timers;
import io.gpupool.server.identity.Principal;
import io.gpupool.server.identity.Role;
import io.grpc.ForwardingServerCallListener.SimpleForwardingServerCallListener;
import io.grpc.Grpc;
import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.Status;
import java.net.SocketAddress;
import java.util.HashMap;
import java.util.Map;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * A count of the network calls in progress, to bound the memory that they keep. Calls of callers
 * who have proved nothing yet are counted by connection and in total, all others by caller. Owned
 * by the control thread.
 */
final class CallLimiter {
  static final int UNPROVEN_PER_CONNECTION = 16;
  static final int UNPROVEN = 256;
  static final long COMPLETE_MILLIS = 10_000;
  static final int PER_CALLER = 2048;

  private final Timers timers;
  private final Map<SocketAddress, Integer> unproven = new HashMap<>();
  private final Map<String, Integer> byCaller = new HashMap<>();
  private int unprovenInAll;

  CallLimiter(Timers timers) {
    this.timers = timers;
  }

  /** Returns the address that a call comes from; null: it is not made over the network. */
  static @Nullable SocketAddress remote(ServerCall<?, ?> call) {
    return call.getAttributes().get(Grpc.TRANSPORT_ATTR_REMOTE_ADDR);
  }

  /** Begins a call of somebody unknown, whose request must come soon. */
  <Q, A> ServerCall.Listener<Q> unproven(
      ServerCall<Q, A> call, Supplier<ServerCall.Listener<Q>> start) {
    SocketAddress from = remote(call);
    if (from == null) {
      return start.get();
    }
    if (unprovenInAll >= UNPROVEN || unproven.getOrDefault(from, 0) >= UNPROVEN_PER_CONNECTION) {
      return refuse(
          call,
          Status.RESOURCE_EXHAUSTED,
          "too many calls without a token are incomplete; end them, or show a token");
    }
    unprovenInAll++;
    unproven.merge(from, 1, Integer::sum);
    return new Unproven<>(start.get(), call, from);
  }

  /** Begins a call of somebody known. */
  <Q, A> ServerCall.Listener<Q> proven(
      ServerCall<Q, A> call, Principal principal, Supplier<ServerCall.Listener<Q>> start) {
    if (remote(call) == null || principal.role() == Role.ADMIN) {
      return start.get();
    }
    String caller = principal.text();
    if (byCaller.getOrDefault(caller, 0) >= PER_CALLER) {
      return refuse(
          call,
          Status.RESOURCE_EXHAUSTED,
          "'" + caller + "' has " + PER_CALLER + " calls open on this server already; end some");
    }
    byCaller.merge(caller, 1, Integer::sum);
    return new Proven<>(start.get(), caller);
  }

  private static <Q, A> ServerCall.Listener<Q> refuse(
      ServerCall<Q, A> call, Status status, String reason) {
    call.close(status.withDescription(reason), new Metadata());
    return new ServerCall.Listener<>() {};
  }

  private static @Nullable Integer less(Object key, int count) {
    return count == 1 ? null : count - 1;
  }

  /** A call that counts as unproven until its request is complete. */
  private final class Unproven<Q> extends SimpleForwardingServerCallListener<Q> {
    private final ServerCall<Q, ?> call;
    private final SocketAddress from;
    private final Timers.Cancellable limit;
    private boolean counted = true;
    private boolean late;

    Unproven(ServerCall.Listener<Q> listener, ServerCall<Q, ?> call, SocketAddress from) {
      super(listener);
      this.call = call;
      this.from = from;
      limit = timers.after(COMPLETE_MILLIS, this::giveUp);
    }

    private void giveUp() {
      if (counted) {
        uncount();
        late = true;
        call.close(
            Status.DEADLINE_EXCEEDED.withDescription(
                "the request was not complete within " + COMPLETE_MILLIS / 1000 + " s"),
            new Metadata());
      }
    }

    private void uncount() {
      if (counted) {
        counted = false;
        limit.cancel();
        unprovenInAll--;
        unproven.computeIfPresent(from, CallLimiter::less);
      }
    }

    @Override
    public void onMessage(Q message) {
      if (!late) {
        super.onMessage(message);
      }
    }

    @Override
    public void onHalfClose() {
      uncount();
      if (!late) {
        super.onHalfClose();
      }
    }

    @Override
    public void onCancel() {
      uncount();
      super.onCancel();
    }

    @Override
    public void onComplete() {
      uncount();
      super.onComplete();
    }
  }

  /** A call that counts for its caller until it is over. */
  private final class Proven<Q> extends SimpleForwardingServerCallListener<Q> {
    private final String caller;
    private boolean counted = true;

    Proven(ServerCall.Listener<Q> listener, String caller) {
      super(listener);
      this.caller = caller;
    }

    private void uncount() {
      if (counted) {
        counted = false;
        byCaller.computeIfPresent(caller, CallLimiter::less);
      }
    }

    @Override
    public void onCancel() {
      uncount();
      super.onCancel();
    }

    @Override
    public void onComplete() {
      uncount();
      super.onComplete();
    }
  }
}
