// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.control;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import io.gpupool.worker.os.Memory;
import io.gpupool.worker.os.Posix;
import java.io.ByteArrayOutputStream;
import java.lang.foreign.Arena;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.function.Supplier;

/**
 * The output of a driver to the standard output and standard error of this process, such as the
 * text of a kernel's printf or of its assert. Each goes into a socket instead; the other ends are
 * read here, at the latest before a fence is answered.
 */
public final class KernelOutput {
  /*
   * The driver may print while the calling thread holds locks of the session, and blocks when the
   * socket is full. So one thread does nothing but read, and another one sends.
   *
   * Each fence pays for the look at the sockets: it is one system call, and nothing more if nothing
   * was printed.
   */
  private static final int BUFFER_BYTES = 64 << 10;
  private static final int MAX_HELD_BYTES = 64 << 20;
  private static final int STANDARD_OUTPUT = 1;
  private static final int POLL_BYTES = 8;
  private static final int POLL_EVENTS = 4;

  /** By their numbers: 0 is the program's standard output, 1 its standard error. */
  private final List<Printed> streams;

  private final ExecutorService sender =
      Executors.newSingleThreadExecutor(Thread.ofPlatform().daemon().name("output").factory());

  /** For threads that answer fences. What {@code poll} writes there is not read. */
  private final long pollFds;

  private volatile Sink sink = (stream, taken) -> {};

  /** A receiver of what is printed. */
  public interface Sink {
    /**
     * Sends what was printed.
     *
     * @param stream 0 for the program's standard output, 1 for its standard error
     * @param taken gives the bytes, in one step with sending them
     */
    void send(int stream, Supplier<byte[]> taken);
  }

  private KernelOutput(List<Printed> streams) {
    this.streams = streams;
    pollFds = pollFds();
  }

  /** Takes over both; what this process has to say itself goes to the server's log as before. */
  public static KernelOutput redirect() {
    ServerLog.keep();
    KernelOutput output = new KernelOutput(List.of(redirect(0), redirect(1)));
    Thread.ofPlatform().daemon().name("output-reader").start(output::readForever);
    return output;
  }

  private static Printed redirect(int stream) {
    int[] pair = Posix.socketPair();
    Posix.dup2(pair[1], STANDARD_OUTPUT + stream);
    Posix.close(pair[1]);
    return new Printed(stream, pair[0]);
  }

  private long pollFds() {
    long fds = Arena.global().allocate((long) streams.size() * POLL_BYTES, Integer.BYTES).address();
    for (Printed printed : streams) {
      long at = fds + (long) printed.stream * POLL_BYTES;
      Memory.putInt(at, printed.fd);
      Memory.putShort(at + POLL_EVENTS, Posix.POLLIN);
    }
    return fds;
  }

  /** Sets who sends what is printed. */
  public void sendTo(Sink newSink) {
    sink = newSink;
  }

  /** Sends what the driver has printed so far. Any thread may call it. */
  public void flush() {
    Posix.flushAll();
    boolean readable = Posix.ready(pollFds, streams.size()) > 0;
    for (Printed printed : streams) {
      while (readable && printed.read()) {
        // until there is no more
      }
      if (printed.isHeld()) {
        send(printed);
      }
    }
  }

  private void readForever() {
    long waited = pollFds();
    while (Posix.poll(waited, streams.size(), -1) >= 0) {
      for (Printed printed : streams) {
        if (printed.read()) {
          sender.execute(() -> send(printed));
        }
      }
    }
  }

  private void send(Printed printed) {
    sink.send(printed.stream, printed::take);
  }

  /** What was printed to one stream and is not sent yet. */
  private static final class Printed {
    private final int stream;
    private final int fd;
    private final long buffer = Arena.global().allocate(BUFFER_BYTES).address();

    @GuardedBy("this")
    private final ByteArrayOutputStream held = new ByteArrayOutputStream();

    Printed(int stream, int fd) {
      this.stream = stream;
      this.fd = fd;
    }

    /** Reads a piece of what is there; returns whether there was any. */
    synchronized boolean read() {
      long count = Posix.recv(fd, buffer, BUFFER_BYTES, Posix.MSG_DONTWAIT);
      if (count > 0 && held.size() < MAX_HELD_BYTES) {
        held.writeBytes(Memory.bytes(buffer, (int) count));
      }
      return count > 0;
    }

    synchronized boolean isHeld() {
      return held.size() > 0;
    }

    synchronized byte[] take() {
      byte[] bytes = held.toByteArray();
      held.reset();
      return bytes;
    }
  }
}
