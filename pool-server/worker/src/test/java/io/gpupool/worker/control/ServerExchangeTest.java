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
import java.util.List;
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

  /** A server's answers to a worker, by the thread of the test. */
  private static final class Server {
    final UnixSocket socket;
    final UnixSocket inbox;
    final Claim workersEnds;
    final ControlLink link;

    Server() {
      int[] sockets = Posix.socketPair();
      int[] inboxes = Posix.socketPair();
      socket = new UnixSocket(sockets[0]);
      inbox = new UnixSocket(inboxes[0]);
      workersEnds = new Claim(new UnixSocket(sockets[1]), new UnixSocket(inboxes[1]));
      link = new ControlLink(socket);
    }

    TextMessage next(String what) throws Exception {
      TextMessage message = link.receive().orElseThrow();
      assertThat(message.get("what")).contains(what);
      if (message.get("descriptor").isPresent()) {
        Posix.close(inbox.receiveDescriptor().orElseThrow());
      }
      return message;
    }

    void close() {
      socket.close();
      inbox.close();
    }
  }

  private static TextMessage.Builder answer(TextMessage request) throws Exception {
    return TextMessage.ofType("shared").put("request", request.require("request"));
  }

  @Test
  void repeat_afterATakeover_tellsWhatIsSharedAndHeldNow() throws Exception {
    Server first = new Server();
    Server second = new Server();
    ControlLink worker = new ControlLink(first.workersEnds.socket());
    worker.handOverBy(first.workersEnds.inbox());
    ServerExchange exchange = new ServerExchange(worker);
    int[] file = Posix.socketPair();
    Offer offer = new Offer(Kind.BLOCK, 1, 4096, file[0], new byte[] {7});
    Token withdrawn = new Token(5, 6, 7, 8);
    Token freed = new Token(9, 9, 9, 9);
    Token held = new Token(2, 2, 2, 2);

    for (Token token : List.of(TOKEN, withdrawn, freed)) {
      var asked = CompletableFuture.supplyAsync(() -> offered(exchange, offer));
      TextMessage request = first.next("offer");
      exchange.answered(answer(request).put("token", token.text()).build(), null);
      assertThat(asked.join()).isEqualTo(token);
    }
    for (int i = 0; i < 3; i++) {
      var asked = CompletableFuture.runAsync(() -> taken(exchange, held));
      TextMessage request = first.next("take");
      exchange.answered(
          answer(request).put("gpu", 1).put("bytes", 64).put("handle", "07").build(), null);
      asked.join();
    }
    exchange.giveBack(held);
    first.next("back");
    var stays = CompletableFuture.supplyAsync(() -> exchange.withdraw(withdrawn));
    exchange.answered(answer(first.next("withdraw")).put("taken", 1).build(), null);
    assertThat(stays.join()).isFalse();
    var goes = CompletableFuture.supplyAsync(() -> exchange.withdraw(freed));
    exchange.answered(answer(first.next("withdraw")).build(), null);
    assertThat(goes.join()).isTrue();
    Posix.close(file[0]);
    Posix.close(file[1]);
    first.close();

    worker.lose();
    worker.replace(second.workersEnds, exchange::repeat);

    TextMessage again = second.next("offer");
    assertThat(again.fields())
        .containsEntry("token", TOKEN.text())
        .containsEntry("kind", "block")
        .containsEntry("gpu", "1")
        .containsEntry("bytes", "4096")
        .containsEntry("handle", "07")
        .containsEntry("descriptor", "1")
        .doesNotContainKeys("withdrawn", "request");
    assertThat(second.next("offer").fields())
        .containsEntry("token", withdrawn.text())
        .containsEntry("withdrawn", "1");
    assertThat(second.next("take").fields())
        .containsEntry("token", held.text())
        .containsEntry("kind", "event")
        .containsEntry("gpu", "1")
        .containsEntry("bytes", "64")
        .containsEntry("held", "1")
        .containsEntry("times", "2")
        .doesNotContainKey("request");
    second.close();
  }

  @Test
  void request_thatTheFormerServerDidNotAnswer_isAnsweredByTheNext() throws Exception {
    Server first = new Server();
    Server second = new Server();
    ControlLink worker = new ControlLink(first.workersEnds.socket());
    worker.handOverBy(first.workersEnds.inbox());
    ServerExchange exchange = new ServerExchange(worker);
    int[] file = Posix.socketPair();
    Offer offer = new Offer(Kind.BLOCK, 0, 4096, file[0], new byte[0]);
    var asked = CompletableFuture.supplyAsync(() -> offered(exchange, offer));
    TextMessage unanswered = first.next("offer");
    first.close();

    worker.lose();
    worker.replace(second.workersEnds, exchange::repeat);
    TextMessage request = second.next("offer");
    assertThat(request).isEqualTo(unanswered);
    exchange.answered(answer(request).put("token", TOKEN.text()).build(), null);
    assertThat(asked.join()).isEqualTo(TOKEN);
    Posix.close(file[0]);
    Posix.close(file[1]);
    second.close();
  }

  private static Token offered(ServerExchange exchange, Offer offer) {
    try {
      return exchange.offer(offer);
    } catch (NotSharedException e) {
      throw new AssertionError(e);
    }
  }

  private static void taken(ServerExchange exchange, Token token) {
    try {
      exchange.take(token, Kind.EVENT).closeDescriptor();
    } catch (NotSharedException e) {
      throw new AssertionError(e);
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
