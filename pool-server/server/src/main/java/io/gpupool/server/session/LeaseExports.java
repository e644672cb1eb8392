// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.session;

import io.gpupool.runtime.RandomHex;
import io.gpupool.server.lease.lifecycle.Lease;
import io.gpupool.server.worker.WorkerLink;
import io.gpupool.transport.Descriptors;
import io.gpupool.transport.Detaching;
import io.gpupool.wire.TextMessage;
import io.gpupool.wire.WireException;
import io.netty.channel.unix.FileDescriptor;
import java.io.IOException;
import java.security.SecureRandom;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The objects that the sessions of one lease share, by tokens that are known only within the lease.
 * Owned by the control thread.
 *
 * <p>Memory counts once, for the session that shared it. It stays until that session has withdrawn
 * it and nobody uses it any more; if the session itself ends first, it counts for one of its users.
 */
final class LeaseExports {
  private static final int MAX_EXPORTS = 1 << 11;
  private static final int TOKEN_BYTES = 32;
  private static final int MAX_HANDLE_DIGITS = 256;
  private static final int MAX_KIND_LENGTH = 16;
  private static final Logger LOG = LoggerFactory.getLogger(LeaseExports.class);

  private final Lease lease;
  private final SecureRandom random;
  private final Map<String, Export> exports = new LinkedHashMap<>();

  LeaseExports(Lease lease, SecureRandom random) {
    this.lease = lease;
    this.random = random;
  }

  /** A worker's message of type {@code share}. */
  void onMessage(Session from, TextMessage message) {
    try {
      switch (message.require("what")) {
        case "offer" -> offer(from, message);
        case "take" -> take(from, message);
        case "back" -> giveBack(from, message.require("token"));
        case "withdraw" -> withdraw(from, message);
        case "sync" -> from.worker().send(answer(message).build());
        default -> throw new WireException("what to share? " + message);
      }
    } catch (WireException e) {
      LOG.warn("lease {} session {}: {}", lease.id(), from.id().brief(), e.getMessage());
      from.worker().send(refusal(message, "malformed", String.valueOf(e.getMessage())));
    }
  }

  /** A worker repeats to this process of the server what it has said to the former one. */
  void repeat(Session from, TextMessage message) {
    try {
      switch (message.type().equals("share") ? message.require("what") : "") {
        case "offer" -> repeatOffer(from, message);
        case "take" -> repeatTake(from, message);
        default -> throw new WireException("what to repeat? " + message);
      }
    } catch (WireException | IOException e) {
      LOG.warn("lease {} session {}: {}", lease.id(), from.id().brief(), e.getMessage());
    }
  }

  private void repeatOffer(Session from, TextMessage message) throws WireException, IOException {
    Integer descriptor =
        message.get("descriptor").isPresent() ? from.worker().takeDescriptor() : null;
    boolean kept = false;
    try {
      Export export = export(from, token(message), message, descriptor);
      Export early = exports.get(export.token);
      if (exports.size() >= MAX_EXPORTS || (early != null && early.owner != null)) {
        throw new WireException("too many things are shared in the lease, or one twice");
      }
      if (early != null) {
        export.takers.addAll(early.takers);
      }
      export.withdrawn = message.get("withdrawn").isPresent();
      exports.put(export.token, export);
      kept = true;
    } finally {
      closeUnless(kept, descriptor);
    }
  }

  /** Its owner may not have repeated its offer yet. */
  private void repeatTake(Session from, TextMessage message) throws WireException {
    String token = token(message);
    Export export = exports.get(token);
    if (export != null) {
      export.takers.add(from);
    } else if (exports.size() < MAX_EXPORTS) {
      int gpu = (int) message.requireNumber("gpu", lease.parts().size() - 1L);
      long bytes = message.requireNumber("bytes", Long.MAX_VALUE);
      exports.put(token, Export.ofNobody(token, kind(message), from, gpu, bytes));
    }
  }

  /**
   * All workers have repeated all.
   *
   * @param hasLosses whether a session of the lease is lost, with what it counted in the ledger
   */
  void repeated(boolean hasLosses) {
    for (Export export : List.copyOf(exports.values())) {
      if (export.owner == null && hasLosses) {
        lease.ledger().charge(export.gpu, export.bytes, export.charged.slot());
      } else if (export.owner != null && export.isOver()) {
        left(export, export.owner, true);
      }
    }
  }

  private static String token(TextMessage message) throws WireException {
    String token = message.require("token");
    if (token.length() != 2 * TOKEN_BYTES) {
      throw new WireException("a token of " + token.length() + " digits");
    }
    return token;
  }

  private void offer(Session from, TextMessage message) throws WireException {
    Integer descriptor = null;
    if (message.get("descriptor").isPresent()) {
      try {
        // First of all, or it would be taken for that of the next message.
        descriptor = from.worker().takeDescriptor();
      } catch (IOException e) {
        LOG.warn("lease {} session {}: {}", lease.id(), from.id().brief(), e.getMessage());
        from.worker().send(refusal(message, "unsupported", String.valueOf(e.getMessage())));
        return;
      }
    }
    boolean kept = false;
    try {
      kept = offer(from, message, descriptor);
    } finally {
      closeUnless(kept, descriptor);
    }
  }

  private static void closeUnless(boolean kept, @Nullable Integer descriptor) {
    if (!kept && descriptor != null) {
      Detaching.closeQuietly(new FileDescriptor(descriptor));
    }
  }

  /** Returns whether the descriptor is kept. */
  private boolean offer(Session from, TextMessage message, @Nullable Integer descriptor)
      throws WireException {
    Export export = export(from, RandomHex.of(random, TOKEN_BYTES), message, descriptor);
    if (exports.size() >= MAX_EXPORTS) {
      from.worker().send(refusal(message, "full", MAX_EXPORTS + " things are shared in the lease"));
      return false;
    }
    exports.put(export.token, export);
    from.worker().send(answer(message).put("token", export.token).build());
    return true;
  }

  private Export export(
      Session from, String token, TextMessage message, @Nullable Integer descriptor)
      throws WireException {
    int gpu = (int) message.requireNumber("gpu", lease.parts().size() - 1L);
    long bytes = message.requireNumber("bytes", Long.MAX_VALUE);
    String handle = message.require("handle");
    if (handle.length() > MAX_HANDLE_DIGITS) {
      throw new WireException("a handle of " + handle.length() + " digits");
    }
    return new Export(token, kind(message), from, gpu, bytes, handle, descriptor);
  }

  private static String kind(TextMessage message) throws WireException {
    String kind = message.require("kind");
    if (kind.length() > MAX_KIND_LENGTH) {
      throw new WireException("a kind of " + kind.length() + " characters");
    }
    return kind;
  }

  private void take(Session from, TextMessage message) throws WireException {
    Export export = exports.get(message.require("token"));
    if (export == null || export.withdrawn || !export.kind.equals(message.require("kind"))) {
      from.worker()
          .send(
              refusal(
                  message, "unknown", "no process of the lease shares anything under this handle"));
      return;
    }
    if (Objects.equals(export.owner, from) && isAddressed(export)) {
      from.worker().send(refusal(message, "own", "the handle is of this very process"));
      return;
    }
    TextMessage.Builder answer =
        answer(message)
            .put("gpu", export.gpu)
            .put("bytes", export.bytes)
            .put("handle", export.handle);
    if (export.descriptor().isEmpty()) {
      export.takers.add(from);
      from.worker().send(answer.build());
      return;
    }
    try {
      int copy = Descriptors.duplicate(export.descriptor().get());
      export.takers.add(from);
      from.worker().send(answer.put("descriptor", 1).build(), new FileDescriptor(copy));
    } catch (IOException e) {
      from.worker().send(refusal(message, "full", String.valueOf(e.getMessage())));
    }
  }

  /** Returns whether an export has a device address, so that its own process cannot open it. */
  private static boolean isAddressed(Export export) {
    return !export.kind.equals("block") && !export.kind.equals("pool");
  }

  private void giveBack(Session from, String token) {
    Export export = exports.get(token);
    if (export != null && export.takers.remove(from)) {
      left(export, from, true);
    }
  }

  private void withdraw(Session from, TextMessage message) throws WireException {
    Export export = exports.get(message.require("token"));
    TextMessage.Builder answer = answer(message);
    if (export != null && Objects.equals(export.owner, from)) {
      export.withdrawn = true;
      if (export.isOver()) {
        drop(export);
      } else {
        answer.put("taken", 1);
      }
    }
    from.worker().send(answer.build());
  }

  /** Drops all references of a session whose worker is dead; its ledger part is cleared next. */
  void gone(Session session) {
    for (Export export : List.copyOf(exports.values())) {
      boolean had = export.takers.remove(session);
      if (Objects.equals(export.owner, session)) {
        export.owner = null;
        export.withdrawn = true;
        had = true;
      }
      if (had) {
        left(export, session, false);
      }
    }
  }

  /** Drops a session's reference; that of a living session is released in the ledger, too. */
  private void left(Export export, Session former, boolean living) {
    if (export.isOver()) {
      drop(export);
      if (export.owner != null) {
        export
            .owner
            .worker()
            .send(TextMessage.ofType("released").put("token", export.token).build());
      } else if (living) {
        lease.ledger().release(export.gpu, export.bytes, former.slot());
      }
    } else if (export.owner == null && export.charged == former) {
      export.charged = export.takers.iterator().next();
      lease.ledger().move(export.gpu, export.bytes, former.slot(), export.charged.slot());
    }
  }

  private void drop(Export export) {
    exports.remove(export.token);
    export.close();
  }

  void close() {
    exports.values().forEach(Export::close);
    exports.clear();
  }

  private static TextMessage.Builder answer(TextMessage to) {
    return WorkerLink.answer("shared", to);
  }

  private static TextMessage refusal(TextMessage to, String refused, String message) {
    return answer(to).put("refused", refused).put("message", message).build();
  }
}
