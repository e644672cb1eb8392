// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker;

import io.gpupool.wire.TextMessage;
import io.gpupool.worker.assignment.AssignedSession;
import io.gpupool.worker.control.Claim;
import io.gpupool.worker.control.ClaimListener;
import io.gpupool.worker.control.ControlLink;
import io.gpupool.worker.control.ServerExchange;
import io.gpupool.worker.os.ParentBond;
import io.gpupool.worker.os.ServerFile;
import java.io.IOException;
import java.util.List;
import java.util.Optional;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The change from one process of the pool-server to the next, which takes this worker over. The
 * session goes on meanwhile. Used by the control thread.
 */
final class Takeover {
  private final @Nullable ClaimListener listener;
  private final Supplier<TextMessage.Builder> greeting;
  private final ControlLink control;
  private final AssignedSession session;
  private final ServerExchange exchange;
  private final ParentBond parent;
  private boolean prepared;

  /**
   * Of a worker.
   *
   * @param listener null if no other process can come
   * @param greeting begins the hello of this worker
   */
  Takeover(
      @Nullable ClaimListener listener,
      Supplier<TextMessage.Builder> greeting,
      ControlLink control,
      AssignedSession session,
      ServerExchange exchange,
      ParentBond parent) {
    this.listener = listener;
    this.greeting = greeting;
    this.control = control;
    this.session = session;
    this.exchange = exchange;
    this.parent = parent;
  }

  /**
   * Lets the connection to the server alone tell of its end from now on, if the session may outlive
   * it: what the server has sent before may be that the session is recorded.
   */
  void assigned() {
    if (listener != null && session.mayOutliveServer()) {
      parent.cut();
    }
  }

  /** Accepts claims, and outlives the server, from now on if the session does. */
  void prepare() {
    if (listener != null && !prepared && session.outlivesServerMillis() > 0) {
      prepared = true;
      listener.begin(control);
    }
  }

  /** Returns whether another server can come. */
  boolean isPrepared() {
    return prepared;
  }

  /** Another server may have the worker. */
  void giveUpServer(@Nullable String why) {
    say("it gives its server up: " + why);
  }

  /**
   * Waits for the next server, when the connection to one has ended.
   *
   * @return whether there is one; else the process is to end
   */
  boolean awaitServer() {
    if (!prepared || listener == null) {
      return false;
    }
    control.lose();
    Optional<Claim> claim = listener.await(0);
    if (claim.isEmpty()) {
      say(
          "the server has gone; the program goes on, and the next server has "
              + session.outlivesServerMillis()
              + " ms to take it over");
    }
    while (claim.isEmpty() || !begin(claim.get())) {
      claim = listener.await(session.outlivesServerMillis());
      if (claim.isEmpty()) {
        say("no server has taken it over in time; this worker ends");
        return false;
      }
    }
    return true;
  }

  private boolean begin(Claim claim) {
    try {
      control.replace(claim, this::introduce);
      session.countAgain();
      return true;
    } catch (IOException e) {
      control.lose();
      return false;
    }
  }

  private void introduce() throws IOException {
    TextMessage.Builder hello = greeting.get().put("claimed", 1);
    session.describe(hello);
    hello.put("files", handOverFiles());
    control.send(hello.build());
    exchange.repeat();
    control.send(TextMessage.ofType("claimed").build());
  }

  /** Gives the server back what it shares with its workers. Returns how many files that is. */
  private int handOverFiles() throws IOException {
    List<ServerFile> files = session.files();
    for (ServerFile file : files) {
      control.handOver(file.descriptor());
    }
    return files.size();
  }

  private void say(String what) {
    System.err.println("gpupool worker: " + session.name() + ": " + what);
  }
}
