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
import java.util.function.Consumer;
import java.util.function.Supplier;

/**
 * The output of a driver to the standard output or standard error of this process, such as the text
 * of a kernel's printf or of its assert. It goes into a socket instead, whose other end is read
 * here, at the latest before a fence is answered.
 */
public final class KernelOutput {
  /*
   * The driver may print while the calling thread holds locks of the session, and blocks when the
   * socket is full. So one thread does nothing but read, and another one sends.
   */
  private static final int BUFFER_BYTES = 64 << 10;
  private static final int MAX_HELD_BYTES = 64 << 20;
  private static final int STANDARD_OUTPUT = 1;
  private static final int STANDARD_ERROR = 2;

  private final int stream;
  private final int fd;
  private final long buffer = Arena.global().allocate(BUFFER_BYTES).address();

  @GuardedBy("this")
  private final ByteArrayOutputStream held = new ByteArrayOutputStream();

  private final ExecutorService sender =
      Executors.newSingleThreadExecutor(Thread.ofPlatform().daemon().name("output").factory());
  private volatile Consumer<Supplier<byte[]>> sink = taken -> {};

  private KernelOutput(int stream, int fd) {
    this.stream = stream;
    this.fd = fd;
  }

  /** Takes over both; what this process has to say itself goes to the server's log as before. */
  public static List<KernelOutput> redirect() {
    ServerLog.keep();
    return List.of(redirect(STANDARD_OUTPUT), redirect(STANDARD_ERROR));
  }

  private static KernelOutput redirect(int descriptor) {
    int[] pair = Posix.socketPair();
    Posix.dup2(pair[1], descriptor);
    Posix.close(pair[1]);
    KernelOutput output = new KernelOutput(descriptor - STANDARD_OUTPUT, pair[0]);
    Thread.ofPlatform().daemon().name("output-reader").start(output::readForever);
    return output;
  }

  /** Returns the stream of the program that gets it: 0 is standard output, 1 standard error. */
  public int stream() {
    return stream;
  }

  /** Sets who sends what is printed. */
  public void sendTo(Consumer<Supplier<byte[]>> newSink) {
    sink = newSink;
  }

  /** Sends what the driver has printed so far. */
  public void flush() {
    Posix.flushAll();
    while (read(Posix.MSG_DONTWAIT)) {
      // until there is no more
    }
    send();
  }

  private void readForever() {
    long pollFd = Arena.global().allocate(8, 4).address();
    Memory.putInt(pollFd, fd);
    Memory.putShort(pollFd + 4, Posix.POLLIN);
    while (Posix.poll(pollFd, 1, -1) >= 0) {
      if (read(Posix.MSG_DONTWAIT)) {
        sender.execute(this::send);
      }
    }
  }

  private synchronized boolean read(int flags) {
    long count = Posix.recv(fd, buffer, BUFFER_BYTES, flags);
    if (count > 0 && held.size() < MAX_HELD_BYTES) {
      held.writeBytes(Memory.bytes(buffer, (int) count));
    }
    return count > 0;
  }

  private void send() {
    sink.accept(this::take);
  }

  private synchronized byte[] take() {
    byte[] bytes = held.toByteArray();
    held.reset();
    return bytes;
  }
}
