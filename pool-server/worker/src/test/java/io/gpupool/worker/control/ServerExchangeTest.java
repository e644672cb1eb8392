// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.control;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.gpupool.wire.TextMessage;
import io.gpupool.worker.UnixListener;
import io.gpupool.worker.os.Posix;
import io.gpupool.worker.os.UnixSocket;
import io.gpupool.worker.session.exchange.Exchange.Kind;
import io.gpupool.worker.session.exchange.Exchange.Offer;
import io.gpupool.worker.session.exchange.NotSharedException;
import io.gpupool.worker.session.exchange.Token;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(30)
class ServerExchangeTest {
  private static final Token TOKEN = new Token(1, 2, 3, 4);

  @Test
  void released_tokenThatTheServerIsAboutToName_isAmongThem() throws Throwable {
    String name = "gpupool-test-" + UUID.randomUUID();
    try (UnixListener listener = new UnixListener(name);
        UnixSocket ofWorker = UnixSocket.connect("@" + name);
        UnixSocket ofServer = listener.accept()) {
      ControlLink worker = new ControlLink(ofWorker);
      ServerExchange exchange = new ServerExchange(worker);
      var server = CompletableFuture.runAsync(() -> answerSync(new ControlLink(ofServer)));
      var control = CompletableFuture.runAsync(() -> hearTwice(worker, exchange));

      assertThat(exchange.released()).containsExactly(TOKEN);
      server.join();
      control.join();
    }
  }

  @Test
  void offer_withADescriptor_handsItOverBeforeItSaysSo() throws Throwable {
    String name = "gpupool-test-" + UUID.randomUUID();
    int[] inbox = Posix.socketPair();
    try (UnixListener listener = new UnixListener(name);
        UnixSocket ofWorker = UnixSocket.connect("@" + name);
        UnixSocket ofServer = listener.accept();
        UnixSocket workersEnd = new UnixSocket(inbox[0]);
        UnixSocket serversEnd = new UnixSocket(inbox[1])) {
      ControlLink worker = new ControlLink(ofWorker);
      ServerExchange exchange = new ServerExchange(worker);
      Offer offer = new Offer(Kind.BLOCK, 0, 4096, inbox[1], new byte[64]);
      assertThatThrownBy(() -> exchange.offer(offer)).isInstanceOf(NotSharedException.class);

      worker.handOverBy(workersEnd);
      var server =
          CompletableFuture.supplyAsync(() -> {
            try {
              TextMessage request = new ControlLink(ofServer).receive().orElseThrow();
              assertThat(request.get("descriptor")).isPresent();
              exchange.answered(
                  TextMessage.ofType("shared")
                      .put("request", request.require("request"))
                      .put("token", TOKEN.text())
                      .build(),
                  null);
              return serversEnd.receiveDescriptor().orElseThrow();
            } catch (Exception e) {
              throw new AssertionError(e);
            }
          });
      assertThat(exchange.offer(offer)).isEqualTo(TOKEN);
      Posix.close(server.join());
    }
  }

  private static void answerSync(ControlLink link) {
    try {
      TextMessage request = link.receive().orElseThrow();
      assertThat(request.require("what")).isEqualTo("sync");
      link.send(TextMessage.ofType("released").put("token", TOKEN.text()).build());
      link.send(TextMessage.ofType("shared").put("request", request.require("request")).build());
    } catch (Exception e) {
      throw new AssertionError(e);
    }
  }

  private static void hearTwice(ControlLink link, ServerExchange exchange) {
    try {
      exchange.released(link.receive().orElseThrow());
      exchange.answered(link.receive().orElseThrow(), null);
    } catch (Exception e) {
      throw new AssertionError(e);
    }
  }
}
