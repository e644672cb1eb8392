// SPDX-License-Identifier: Apache-2.0
package io.gpupool.transport.tls;

import io.gpupool.transport.BlockingSocket;
import io.netty.channel.unix.FileDescriptor;
import java.lang.foreign.Arena;
import java.util.concurrent.atomic.AtomicInteger;
import javax.net.ssl.SSLException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Relays a call stream between a connection over TLS and a socket in clear text. Each direction has
 * a thread of its own that waits in the kernel, so that a call passes without a change of threads,
 * and copies to and from the GPU at the same time. When either side ends, both do.
 */
public final class TlsRelay implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(TlsRelay.class);

  private final BlockingSocket encrypted;
  private final BlockingSocket clear;
  private final Sealing sealing;
  private final Opening opening;
  private final Runnable onEnd;
  private final Arena memory = Arena.ofShared();
  private final AtomicInteger running = new AtomicInteger(2);

  private TlsRelay(TakenConnection connection, FileDescriptor clear, Runnable onEnd) {
    this.encrypted = new BlockingSocket(connection.descriptor());
    this.clear = new BlockingSocket(clear);
    this.onEnd = onEnd;
    sealing = new Sealing(connection.engine(), this.clear, encrypted, memory);
    opening = new Opening(connection, encrypted, this.clear, sealing, memory);
  }

  /**
   * Begins to relay.
   *
   * @param name of the session, for the threads
   * @param clear blocking; closed when the relay ends, as the connection is
   * @param onEnd called once, by one of the threads, when both sides have ended
   */
  public static TlsRelay start(
      String name, TakenConnection connection, FileDescriptor clear, Runnable onEnd) {
    TlsRelay relay = new TlsRelay(connection, clear, onEnd);
    thread("gpupool-tls-out-" + name, () -> relay.run(relay.sealing::run));
    thread("gpupool-tls-in-" + name, () -> relay.run(relay.opening::run));
    return relay;
  }

  private static void thread(String name, Runnable run) {
    Thread.ofPlatform().daemon().name(name).start(run);
  }

  /** The work of a thread until its side has ended. */
  private interface Direction {
    void run() throws SSLException;
  }

  private void run(Direction direction) {
    try {
      direction.run();
    } catch (SSLException e) {
      LOG.warn("a call stream over TLS ends: {}", e.getMessage());
    } catch (RuntimeException e) {
      LOG.error("a call stream over TLS ends", e);
    } finally {
      close();
      if (running.decrementAndGet() == 0) {
        encrypted.close();
        clear.close();
        memory.close();
        onEnd.run();
      }
    }
  }

  /** Ends both sides, for any thread; what was sent still arrives. */
  @Override
  public void close() {
    encrypted.shutdown();
    clear.shutdown();
  }
}
