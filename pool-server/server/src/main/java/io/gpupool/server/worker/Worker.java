// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.worker;

import io.gpupool.runtime.Timers;
import io.gpupool.server.takeover.WorkerRecord;
import io.gpupool.transport.Detaching;
import io.gpupool.wire.SealSecret;
import io.gpupool.wire.TextMessage;
import io.netty.channel.unix.FileDescriptor;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A worker process, from the decision to start it until it is dead. Owned by the control thread.
 */
public final class Worker {
  private static final long KILL_AFTER_MILLIS = 500;
  private static final TextMessage END = TextMessage.ofType("end").build();
  private static final Logger LOG = LoggerFactory.getLogger(Worker.class);

  final String token;

  /** Whether its assignment says what of the GPUs it is to see. */
  public final boolean seesAssigned;

  /** Its own user id; null where it has the server's. */
  final @Nullable Long user;

  /** The name of the socket on which it can be claimed; null: the server has no run directory. */
  final @Nullable String socket;

  private final Timers timers;
  private final List<Runnable> onLink = new ArrayList<>();
  private @Nullable WorkerProcess process;
  private @Nullable WorkerLink link;
  private @Nullable DescriptorInbox inbox;
  private @Nullable WorkerSession session;
  private boolean taken;
  private boolean ending;
  private boolean dead;
  private boolean left;

  Worker(
      String token,
      boolean seesAssigned,
      @Nullable Long user,
      @Nullable String socket,
      Timers timers) {
    this.token = token;
    this.seesAssigned = seesAssigned;
    this.user = user;
    this.socket = socket;
    this.timers = timers;
  }

  public OptionalInt pid() {
    return process == null ? OptionalInt.empty() : OptionalInt.of(process.pid());
  }

  /** The worker as the server's next process can claim it; empty: it cannot. */
  public Optional<WorkerRecord> record() {
    return Optional.ofNullable(process)
        .flatMap(WorkerProcess::identity)
        .filter(_ -> socket != null)
        .map(identity -> new WorkerRecord(identity, token, user, Objects.requireNonNull(socket)));
  }

  Optional<WorkerSession> session() {
    return Optional.ofNullable(session);
  }

  boolean isUsable() {
    return !ending && !dead;
  }

  /** Whether it has no session and is promised to none. */
  boolean isSpare() {
    return isUsable() && !taken;
  }

  /** Promises it to a session. */
  void take() {
    taken = true;
  }

  boolean isLinked() {
    return link != null;
  }

  /**
   * Gives the worker its session; it hears of it as soon as it listens.
   *
   * @param files descriptors that follow the message, made when it is sent; after them comes the
   *     worker's end of a socket for descriptors
   */
  public void assign(
      WorkerSession to, TextMessage assignment, List<Supplier<FileDescriptor>> files) {
    session = to;
    whenLinked(() -> {
      WorkerLink own = Objects.requireNonNull(link);
      own.send(assignment);
      try {
        files.forEach(file -> own.send(file.get()));
        DescriptorInbox opened = DescriptorInbox.open();
        inbox = opened;
        own.send(opened.workersEnd());
      } catch (UncheckedIOException e) {
        to.end("its worker cannot have what it shares with the server: " + e.getCause());
      }
    });
  }

  /** Takes a descriptor that the worker has handed over with a message. */
  public int takeDescriptor() throws IOException {
    if (inbox == null) {
      throw new IOException("the worker has no session");
    }
    return inbox.take();
  }

  /** Runs when the worker listens, at once if it does; never if it dies before. */
  public void whenLinked(Runnable action) {
    if (link != null) {
      action.run();
    } else {
      onLink.add(action);
    }
  }

  /** Tells it something; not if it does not listen yet, or any more. */
  public void send(TextMessage message) {
    if (link != null) {
      link.send(message);
    }
  }

  /** The same, followed by a descriptor, which is closed here. */
  public void send(TextMessage message, FileDescriptor descriptor) {
    if (link != null) {
      link.send(message);
      link.send(descriptor);
    } else {
      Detaching.closeQuietly(descriptor);
    }
  }

  /**
   * Hands over the call stream, or a later one in its place; the worker must be linked.
   *
   * @param isLocal whether it is a unix socket whose other end the program has
   * @param secret with which it is sealed unless it is local; null: it is not
   */
  public void attach(FileDescriptor stream, boolean isLocal, @Nullable SealSecret secret) {
    WorkerLink to = Objects.requireNonNull(link);
    to.send(
        TextMessage.ofType("attach")
            .putIfPresent("secret", isLocal || secret == null ? null : secret.hex())
            .putIfPresent("local", isLocal ? "1" : null)
            .build());
    to.send(stream);
  }

  /**
   * Hands over a connection with the program's worker of another link.
   *
   * @param random for the beginning of the connection, in hexadecimal
   */
  public void peer(int to, String random, FileDescriptor stream) {
    WorkerLink own = Objects.requireNonNull(link);
    own.send(TextMessage.ofType("peer").put("link", to).put("random", random).build());
    own.send(stream);
  }

  /** Says that there is none; {@code again}: but that there may be one later. */
  public void peerFailed(int to, String why, boolean again) {
    TextMessage.Builder message = TextMessage.ofType("peer").put("link", to).put("error", why);
    if (again) {
      message.put("again", 1);
    }
    Objects.requireNonNull(link).send(message.build());
  }

  void started(WorkerProcess started) {
    process = started;
    if (ending) {
      started.kill();
    }
  }

  /** Has accepted this server's claim; it is a worker of the server's former process. */
  void claimed(WorkerLink over, DescriptorInbox descriptors) {
    inbox = descriptors;
    linked(over);
  }

  /** Goes on with the session that it had with the server's former process, or was moved here. */
  public void serve(WorkerSession of) {
    session = of;
  }

  /** Leaves it and its session to the server's next process. */
  void leave() {
    left = true;
    if (link != null) {
      link.close();
    }
    if (inbox != null) {
      inbox.close();
    }
  }

  void linked(WorkerLink to) {
    link = to;
    if (ending) {
      to.close();
      return;
    }
    List<Runnable> actions = List.copyOf(onLink);
    onLink.clear();
    actions.forEach(Runnable::run);
  }

  /** Asks the process to exit and kills it if it has not done so soon. */
  public void end() {
    if (ending || dead || left) {
      return;
    }
    ending = true;
    if (process != null) {
      process.expectEnd();
    }
    if (link != null) {
      // Else it would wait for the server's next process.
      link.send(END);
      link.close();
      timers.after(KILL_AFTER_MILLIS, this::kill);
    } else {
      kill();
    }
  }

  /** The process is dead, or could not be started. */
  void exited() {
    dead = true;
    onLink.clear();
    if (link != null) {
      link.close();
    }
    if (inbox != null) {
      inbox.close();
    }
    inbox = null;
  }

  private void kill() {
    if (!dead && process != null) {
      LOG.debug("killing worker {}", process.pid());
      process.kill();
    }
  }
}
