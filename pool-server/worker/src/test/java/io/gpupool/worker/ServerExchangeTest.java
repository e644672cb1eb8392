// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.wire.TextMessage;
import io.gpupool.worker.os.UnixSocket;
import io.gpupool.worker.session.Token;
import java.util.OptionalInt;
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
      exchange.answered(link.receive().orElseThrow(), OptionalInt.empty());
    } catch (Exception e) {
      throw new AssertionError(e);
    }
  }
}
