// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.control;

import io.gpupool.cuda.CudaResult;
import io.gpupool.wire.TextMessage;
import io.gpupool.wire.WireException;
import io.gpupool.worker.os.Posix;
import io.gpupool.worker.session.exchange.Exchange;
import io.gpupool.worker.session.exchange.NotSharedException;
import io.gpupool.worker.session.exchange.Token;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * The exchange of a lease as its pool-server keeps it. The session's thread asks and waits; the
 * control thread brings the answers.
 */
public final class ServerExchange implements Exchange {
  private static final int MAX_GPUS = 256;
  private static final int NO_ANSWER = CudaResult.UNKNOWN;
  private static final Runnable NOTHING = () -> {};

  private final ControlLink control;
  private final AtomicReference<@Nullable Question> asked = new AtomicReference<>();
  private final LinkedBlockingQueue<Token> released = new LinkedBlockingQueue<>();
  private final SharedThings things = new SharedThings();
  private long requests;

  public ServerExchange(ControlLink control) {
    this.control = control;
  }

  /** Brings a message of type {@code shared}, by the control thread. */
  public void answered(TextMessage message, @Nullable Integer descriptor) {
    Question question = asked.get();
    if (question == null || !question.isOf(message) || !asked.compareAndSet(question, null)) {
      // It came too late for an earlier request.
      close(descriptor);
      return;
    }
    control.settled(question.key());
    question.answer(message, descriptor);
  }

  /** Brings a message of type {@code released}, by the control thread. */
  public void released(TextMessage message) throws WireException {
    Token token = Token.parse(message.require("token"));
    things.withdraw(token, false);
    released.add(token);
  }

  /** Tells a later server what this session shares and has, by the control thread. */
  public void repeat() throws IOException {
    things.repeat(control);
  }

  @Override
  public Token offer(Offer offer) throws NotSharedException {
    TextMessage.Builder message = SharedThings.describe(request("offer"), offer);
    Integer kept = keep(offer);
    if (kept != null) {
      message.put("descriptor", 1);
    }
    Question question =
        new Question(
            requests, answer -> things.offer(token(answer), offer, kept), () -> close(kept));
    try {
      return token(ask(question, message.build(), kept).message());
    } catch (IllegalArgumentException e) {
      throw new NotSharedException(NO_ANSWER, "the server's answer: " + e.getMessage());
    }
  }

  /** Returns a descriptor for this server and later ones, if the offer has one. */
  private @Nullable Integer keep(Offer offer) throws NotSharedException {
    Integer descriptor = offer.descriptor();
    if (descriptor == null) {
      return null;
    }
    if (!control.takesDescriptors()) {
      throw new NotSharedException(CudaResult.NOT_SUPPORTED, "the server takes no descriptors");
    }
    int kept = Posix.dup(descriptor);
    if (kept < 0) {
      throw new NotSharedException(CudaResult.OUT_OF_MEMORY, "no descriptor is left");
    }
    return kept;
  }

  @Override
  public Taken take(Token token, Kind kind) throws NotSharedException {
    TextMessage message =
        request("take").put("kind", SharedThings.text(kind)).put("token", token.text()).build();
    Question question =
        new Question(
            requests,
            answer -> things.take(token, kind, number(answer, "gpu"), number(answer, "bytes")),
            NOTHING);
    Answer answer = ask(question, message, null);
    try {
      return new Taken(
          (int) answer.message().requireNumber("gpu", MAX_GPUS),
          answer.message().requireNumber("bytes", Long.MAX_VALUE),
          answer.descriptor(),
          HexFormat.of().parseHex(answer.message().require("handle")));
    } catch (WireException | IllegalArgumentException e) {
      close(answer.descriptor());
      throw new NotSharedException(NO_ANSWER, "the server's answer: " + e.getMessage());
    }
  }

  @Override
  public void giveBack(Token token) {
    TextMessage message = request("back").put("token", token.text()).build();
    try {
      control.send(message, () -> things.giveBack(token));
    } catch (IOException e) {
      // The server has gone; a later one does not hear of the thing.
    }
  }

  @Override
  public boolean withdraw(Token token) {
    TextMessage message = request("withdraw").put("token", token.text()).build();
    Question question =
        new Question(requests, answer -> things.withdraw(token, isTaken(answer)), NOTHING);
    try {
      return !isTaken(ask(question, message, null).message());
    } catch (NotSharedException e) {
      // The server knows nothing of it, or does not answer.
      things.withdraw(token, false);
      return true;
    }
  }

  @Override
  public List<Token> released() {
    try {
      // Messages keep their order: once this is answered, those about earlier releases are here.
      TextMessage message = request("sync").build();
      Answer ignored = ask(new Question(requests, answer -> {}, NOTHING), message, null);
    } catch (NotSharedException e) {
      // The server does not answer.
    }
    List<Token> all = new ArrayList<>();
    released.drainTo(all);
    return all;
  }

  private TextMessage.Builder request(String what) {
    return TextMessage.ofType("share").put("what", what).put("request", ++requests);
  }

  private Answer ask(Question question, TextMessage message, @Nullable Integer descriptor)
      throws NotSharedException {
    asked.set(question);
    control.ask(question.key(), message, descriptor);
    while (!question.awaitAnswer()) {
      // Without a server there is no answer: the next one gives it, or the process ends.
      if (control.hasLasted(Question.PATIENCE_SECONDS) && asked.compareAndSet(question, null)) {
        control.forget(question.key());
        question.giveUp();
        throw new NotSharedException(NO_ANSWER, "the server did not answer");
      }
    }
    return question.result();
  }

  private static boolean isTaken(TextMessage answer) {
    return answer.get("taken").isPresent();
  }

  private static Token token(TextMessage answer) {
    return Token.parse(answer.get("token").orElse(""));
  }

  private static long number(TextMessage answer, String key) {
    return Long.parseLong(answer.get(key).orElse("0"));
  }

  private static void close(@Nullable Integer descriptor) {
    if (descriptor != null) {
      Posix.close(descriptor);
    }
  }
}
