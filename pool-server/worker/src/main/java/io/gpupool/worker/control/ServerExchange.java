// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.control;

import io.gpupool.cuda.CudaResult;
import io.gpupool.wire.TextMessage;
import io.gpupool.wire.WireException;
import io.gpupool.worker.os.Posix;
import io.gpupool.worker.os.UnixSocket;
import io.gpupool.worker.session.exchange.Exchange;
import io.gpupool.worker.session.exchange.NotSharedException;
import io.gpupool.worker.session.exchange.Token;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * The exchange of a lease as its pool-server keeps it. The session's thread asks and waits; the
 * control thread brings the answers.
 */
public final class ServerExchange implements Exchange {
  private static final long PATIENCE_SECONDS = 30;
  private static final int MAX_GPUS = 256;

  private static final int NO_ANSWER = CudaResult.UNKNOWN;

  private final ControlLink control;
  private final LinkedBlockingQueue<Answer> answers = new LinkedBlockingQueue<>();
  private final LinkedBlockingQueue<Token> released = new LinkedBlockingQueue<>();
  private volatile @Nullable UnixSocket inbox;
  private long requests;

  private record Answer(TextMessage message, @Nullable Integer descriptor) {
    void closeDescriptor() {
      if (descriptor != null) {
        Posix.close(descriptor);
      }
    }
  }

  public ServerExchange(ControlLink control) {
    this.control = control;
  }

  /** Sets the socket on which the server takes descriptors; comes before the session begins. */
  public void handOverBy(UnixSocket socket) {
    inbox = socket;
  }

  /** Brings a message of type {@code shared}, by the control thread. */
  public void answered(TextMessage message, @Nullable Integer descriptor) {
    answers.add(new Answer(message, descriptor));
  }

  /** Brings a message of type {@code released}, by the control thread. */
  public void released(TextMessage message) throws WireException {
    released.add(Token.parse(message.require("token")));
  }

  @Override
  public Token offer(Offer offer) throws NotSharedException {
    TextMessage.Builder request =
        request("offer")
            .put("kind", text(offer.kind()))
            .put("gpu", offer.gpu())
            .put("bytes", offer.lengthBytes())
            .put("handle", HexFormat.of().formatHex(offer.handle()));
    Integer descriptor = offer.descriptor();
    if (descriptor != null) {
      handOver(descriptor);
      request.put("descriptor", 1);
    }
    Answer answer = ask(request);
    try {
      return Token.parse(answer.message.require("token"));
    } catch (WireException | IllegalArgumentException e) {
      throw new NotSharedException(NO_ANSWER, "the server's answer: " + e.getMessage());
    }
  }

  private void handOver(int descriptor) throws NotSharedException {
    UnixSocket server = inbox;
    if (server == null) {
      throw new NotSharedException(CudaResult.NOT_SUPPORTED, "the server takes no descriptors");
    }
    try {
      server.sendDescriptor(descriptor);
    } catch (IOException e) {
      throw new NotSharedException(CudaResult.NOT_SUPPORTED, e.getMessage());
    }
  }

  @Override
  public Taken take(Token token, Kind kind) throws NotSharedException {
    Answer answer = ask(request("take").put("kind", text(kind)).put("token", token.text()));
    try {
      return new Taken(
          (int) answer.message.requireNumber("gpu", MAX_GPUS),
          answer.message.requireNumber("bytes", Long.MAX_VALUE),
          answer.descriptor,
          HexFormat.of().parseHex(answer.message.require("handle")));
    } catch (WireException | IllegalArgumentException e) {
      answer.closeDescriptor();
      throw new NotSharedException(NO_ANSWER, "the server's answer: " + e.getMessage());
    }
  }

  @Override
  public void giveBack(Token token) {
    try {
      control.send(request("back").put("token", token.text()).build());
    } catch (IOException e) {
      // The control connection is gone; its reader ends the process.
    }
  }

  @Override
  public boolean withdraw(Token token) {
    try {
      Answer answer = ask(request("withdraw").put("token", token.text()));
      return answer.message.get("taken").isEmpty();
    } catch (NotSharedException e) {
      // The server knows nothing of it, or is gone.
      return true;
    }
  }

  @Override
  public List<Token> released() {
    try {
      // Messages keep their order: once this is answered, those about earlier releases are here.
      ask(request("sync"));
    } catch (NotSharedException e) {
      // The server is gone; its reader ends the process.
    }
    List<Token> all = new ArrayList<>();
    released.drainTo(all);
    return all;
  }

  private TextMessage.Builder request(String what) {
    return TextMessage.ofType("share").put("what", what).put("request", ++requests);
  }

  private Answer ask(TextMessage.Builder request) throws NotSharedException {
    String number = Long.toString(requests);
    try {
      control.send(request.build());
      while (true) {
        Answer answer = answers.poll(PATIENCE_SECONDS, TimeUnit.SECONDS);
        if (answer == null) {
          throw new NotSharedException(NO_ANSWER, "the server did not answer");
        }
        // What came too late for an earlier request is nothing to this one.
        if (answer.message.get("request").filter(number::equals).isPresent()) {
          return checked(answer);
        }
        answer.closeDescriptor();
      }
    } catch (IOException e) {
      throw new NotSharedException(NO_ANSWER, "the server is gone");
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new NotSharedException(NO_ANSWER, "interrupted");
    }
  }

  private static Answer checked(Answer answer) throws NotSharedException {
    String refused = answer.message.get("refused").orElse("");
    if (refused.isEmpty()) {
      return answer;
    }
    answer.closeDescriptor();
    int result =
        switch (refused) {
          case "own" -> CudaResult.INVALID_CONTEXT;
          case "full" -> CudaResult.OUT_OF_MEMORY;
          case "unsupported" -> CudaResult.NOT_SUPPORTED;
          default -> CudaResult.INVALID_VALUE;
        };
    throw new NotSharedException(result, answer.message.get("message").orElse(refused));
  }

  private static String text(Kind kind) {
    return kind.name().toLowerCase(Locale.ROOT);
  }
}
