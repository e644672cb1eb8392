// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.control;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import io.gpupool.wire.TextMessage;
import io.gpupool.worker.os.Posix;
import io.gpupool.worker.session.exchange.Exchange.Kind;
import io.gpupool.worker.session.exchange.Exchange.Offer;
import io.gpupool.worker.session.exchange.Token;
import java.io.IOException;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The things that this session shares with others and those that it has of others, as the server
 * knows them: a later server hears of them from here. For any thread.
 */
final class SharedThings {
  @GuardedBy("this")
  private final Map<Token, Offered> offered = new LinkedHashMap<>();

  @GuardedBy("this")
  private final Map<Token, Held> held = new LinkedHashMap<>();

  /**
   * An offer that stands.
   *
   * @param descriptor of the offer, owned here
   */
  private record Offered(Offer offer, @Nullable Integer descriptor, boolean withdrawn) {
    void close() {
      if (descriptor != null) {
        Posix.close(descriptor);
      }
    }
  }

  /** A thing of another session; how often it was taken and not given back. */
  private record Held(Kind kind, long gpu, long lengthBytes, int times) {
    Held times(int newTimes) {
      return new Held(kind, gpu, lengthBytes, newTimes);
    }
  }

  /** Begins the message of an offer. */
  static TextMessage.Builder describe(TextMessage.Builder message, Offer offer) {
    return message
        .put("kind", text(offer.kind()))
        .put("gpu", offer.gpu())
        .put("bytes", offer.lengthBytes())
        .put("handle", HexFormat.of().formatHex(offer.handle()));
  }

  static String text(Kind kind) {
    return kind.name().toLowerCase(Locale.ROOT);
  }

  /** Keeps an offer, and its descriptor from now on. */
  synchronized void offer(Token token, Offer offer, @Nullable Integer descriptor) {
    offered.put(token, new Offered(offer, descriptor, false));
  }

  /** An offer is withdrawn; it stays as long as another session has the thing. */
  synchronized void withdraw(Token token, boolean isTaken) {
    Offered known = offered.remove(token);
    if (known != null && isTaken) {
      offered.put(token, new Offered(known.offer, known.descriptor, true));
    } else if (known != null) {
      known.close();
    }
  }

  synchronized void take(Token token, Kind kind, long gpu, long lengthBytes) {
    held.merge(
        token, new Held(kind, gpu, lengthBytes, 1), (known, more) -> known.times(known.times + 1));
  }

  synchronized void giveBack(Token token) {
    held.computeIfPresent(
        token, (key, known) -> known.times == 1 ? null : known.times(known.times - 1));
  }

  /** Tells a later server of all. */
  synchronized void repeat(ControlLink control) throws IOException {
    for (Map.Entry<Token, Offered> entry : offered.entrySet()) {
      Offered each = entry.getValue();
      TextMessage.Builder message =
          describe(TextMessage.ofType("share").put("what", "offer"), each.offer)
              .put("token", entry.getKey().text());
      if (each.withdrawn) {
        message.put("withdrawn", 1);
      }
      if (each.descriptor != null) {
        message.put("descriptor", 1);
      }
      control.send(message.build(), each.descriptor);
    }
    for (Map.Entry<Token, Held> entry : held.entrySet()) {
      Held each = entry.getValue();
      control.send(
          TextMessage.ofType("share")
              .put("what", "take")
              .put("kind", text(each.kind))
              .put("gpu", each.gpu)
              .put("bytes", each.lengthBytes)
              .put("token", entry.getKey().text())
              .put("held", 1)
              .put("times", each.times)
              .build());
    }
  }
}
