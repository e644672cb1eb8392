// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session.peer;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import io.gpupool.cuda.Backend;
import io.gpupool.cuda.CudaResult;
import io.gpupool.worker.peer.PeerConnections;
import io.gpupool.worker.peer.PeerException;
import io.gpupool.worker.session.call.CurrentCall;
import io.gpupool.worker.session.copy.PieceReader;
import io.gpupool.worker.session.core.ContextState;
import io.gpupool.worker.session.quota.OwnedMemory;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.BooleanSupplier;

/**
 * The ranges of this worker's memory that other workers may read, each once, and the reads that
 * they asked for before they were allowed. The session's thread allows reads; readers of
 * connections ask for them.
 */
public final class Reads {
  private static final int MAX_EARLY = 1 << 16;
  private static final int MAX_ALLOWED = 1 << 20;

  private final Backend backend;
  private final CurrentCall call;
  private final OwnedMemory owned;
  private final PeerConnections peers;

  @GuardedBy("this")
  private final Map<Long, Allowed> allowed = new HashMap<>();

  @GuardedBy("this")
  private final Map<Long, Asked> asked = new HashMap<>();

  /** Those that are carried out and whose contexts are there, by their tickets. */
  @GuardedBy("this")
  private final Map<Long, Allowed> served = new HashMap<>();

  /** Without a context, which is gone, it is answered with an error. */
  private record Allowed(
      ContextState context, int link, long source, long lengthBytes, boolean direct) {}

  private record Asked(int link, long lengthBytes) {}

  Reads(Backend backend, CurrentCall call, OwnedMemory owned, PeerConnections peers) {
    this.backend = backend;
    this.call = call;
    this.owned = owned;
    this.peers = peers;
  }

  /** Allows a read, and carries it out if it has been asked for. */
  int allow(long ticket, ContextState context, int link, long source, long lengthBytes)
      throws PeerException {
    // Now: the program may free the memory in its stream's order before the read is asked for.
    boolean direct = backend.isReadable(source, lengthBytes);
    Allowed allow = new Allowed(context, link, source, lengthBytes, direct);
    Asked ask;
    synchronized (this) {
      ask = asked.remove(ticket);
      if (ask == null && allowed.size() >= MAX_ALLOWED) {
        return CudaResult.OUT_OF_MEMORY;
      }
      if (ask == null) {
        return allowed.putIfAbsent(ticket, allow) == null ? 0 : CudaResult.INVALID_VALUE;
      }
    }
    serve(ticket, allow, ask);
    return 0;
  }

  /** A worker asks. */
  void ask(long ticket, int link, long lengthBytes) throws PeerException {
    Asked ask = new Asked(link, lengthBytes);
    Allowed allow;
    synchronized (this) {
      allow = allowed.remove(ticket);
      if (allow == null && (asked.size() >= MAX_EARLY || asked.putIfAbsent(ticket, ask) != null)) {
        throw new PeerException("too many copies, or one twice");
      }
    }
    if (allow != null) {
      serve(ticket, allow, ask);
    }
  }

  /**
   * Answers the reads from a context that ends with an error, also those that are under way and
   * wait for a connection.
   */
  void forget(ContextState context) {
    synchronized (this) {
      allowed.replaceAll((ticket, allow) ->
          allow.context == context
              ? new Allowed(call.noContext(), allow.link, allow.source, allow.lengthBytes, false)
              : allow);
      served.values().removeIf(allow -> allow.context == context);
    }
    peers.stir();
  }

  private synchronized boolean isServed(long ticket) {
    return served.containsKey(ticket);
  }

  private void serve(long ticket, Allowed allow, Asked ask) throws PeerException {
    if (allow.link != ask.link || allow.lengthBytes != ask.lengthBytes) {
      throw new PeerException("a copy of " + ask.lengthBytes + " bytes that is not allowed");
    }
    ContextState context = allow.context;
    context.waitingThreads.incrementAndGet();
    synchronized (this) {
      served.put(ticket, allow);
    }
    boolean begun =
        peers.serve(
            allow.link,
            () -> {
              try {
                peers.endPull(allow.link, ticket, read(ticket, allow));
              } finally {
                served(ticket, context);
              }
            });
    if (!begun) {
      served(ticket, context);
    }
  }

  private void served(long ticket, ContextState context) {
    synchronized (this) {
      served.remove(ticket);
    }
    context.waitingThreads.decrementAndGet();
  }

  private int read(long ticket, Allowed allow) {
    ContextState context = allow.context;
    if (!context.exists()) {
      return CudaResult.CONTEXT_IS_DESTROYED;
    }
    AtomicBoolean isGivenUp = new AtomicBoolean();
    PieceReader.Taker taker =
        (at, address, bytes, lender) -> {
          if (!isGivenUp.get()) {
            BooleanSupplier wanted = () -> isServed(ticket);
            isGivenUp.set(!peers.sendPiece(allow.link, ticket, at, address, bytes, wanted));
          }
          return false;
        };
    int result;
    if (allow.direct) {
      result = PieceReader.readDirectly(allow.source, allow.lengthBytes, taker);
    } else {
      backend.cuCtxSetCurrent(context.handle);
      PieceReader reader = new PieceReader(backend, owned, context);
      result = reader.read(allow.source, allow.lengthBytes, taker);
    }
    return isGivenUp.get() ? CudaResult.CONTEXT_IS_DESTROYED : result;
  }
}
