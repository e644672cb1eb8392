// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.control;

import io.gpupool.cuda.CudaResult;
import io.gpupool.wire.TextMessage;
import io.gpupool.worker.os.Posix;
import io.gpupool.worker.session.exchange.NotSharedException;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * A request of the exchange, for which one thread waits. What the answer means for later servers is
 * noted by the thread that brings it: they may come before the one that waits has gone on.
 */
final class Question {
  static final long PATIENCE_SECONDS = 30;

  private final String number;
  private final Consumer<TextMessage> granted;
  private final Runnable refused;
  private final CompletableFuture<Answer> answer = new CompletableFuture<>();

  /**
   * Names what is to be done with the answer.
   *
   * @param granted if the server does what is asked
   * @param refused if it does not, or says nothing
   */
  Question(long request, Consumer<TextMessage> granted, Runnable refused) {
    number = Long.toString(request);
    this.granted = granted;
    this.refused = refused;
  }

  String key() {
    return "share " + number;
  }

  boolean isOf(TextMessage message) {
    return message.get("request").equals(Optional.of(number));
  }

  void answer(TextMessage message, @Nullable Integer descriptor) {
    try {
      if (message.get("refused").orElse("").isEmpty()) {
        granted.accept(message);
      } else {
        refused.run();
      }
    } catch (IllegalArgumentException e) {
      // Whoever waits finds the same, and says so.
      refused.run();
    }
    answer.complete(new Answer(message, descriptor));
  }

  void giveUp() {
    refused.run();
  }

  /** Returns whether it has come in time. */
  boolean awaitAnswer() throws NotSharedException {
    try {
      Answer ignored = answer.get(PATIENCE_SECONDS, TimeUnit.SECONDS);
      return true;
    } catch (TimeoutException e) {
      return false;
    } catch (ExecutionException e) {
      throw new IllegalStateException(e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new NotSharedException(CudaResult.UNKNOWN, "interrupted");
    }
  }

  /** Returns the answer, which has come. */
  Answer result() throws NotSharedException {
    Answer come = answer.join();
    String why = come.message().get("refused").orElse("");
    if (why.isEmpty()) {
      return come;
    }
    if (come.descriptor() != null) {
      Posix.close(come.descriptor());
    }
    int result =
        switch (why) {
          case "own" -> CudaResult.INVALID_CONTEXT;
          case "full" -> CudaResult.OUT_OF_MEMORY;
          case "unsupported" -> CudaResult.NOT_SUPPORTED;
          default -> CudaResult.INVALID_VALUE;
        };
    throw new NotSharedException(result, come.message().get("message").orElse(why));
  }
}
