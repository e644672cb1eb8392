// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.stream;

import io.gpupool.runtime.NetworkNamespace;
import io.gpupool.server.options.LocalSocketOptions;
import io.gpupool.transport.UnixAddress;
import io.gpupool.wire.ClientHello;
import io.gpupool.wire.LocalSocketName;
import io.netty.channel.Channel;
import io.netty.channel.EventLoopGroup;
import java.io.IOException;
import java.net.ConnectException;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.SocketChannel;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.SecureRandom;
import java.util.Optional;
import java.util.function.BiConsumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The unix socket of the call streams of one's own machine. It reads the same handshake as the
 * port, whose key is all that lets a connection in: everybody on the machine may connect. What
 * follows is in clear text, and no event loop sees a byte of it.
 */
public final class LocalSocket {
  private static final Logger LOG = LoggerFactory.getLogger(LocalSocket.class);

  private final LocalSocketName name;
  private final Channel server;
  private final RefusalLog refusals = new RefusalLog(System::nanoTime, LOG::info);
  private final UnfinishedHandshakes unfinished = new UnfinishedHandshakes();

  private LocalSocket(
      LocalSocketName name,
      UnixAddress address,
      EventLoopGroup loops,
      BiConsumer<ClientHello, CallStream> join) {
    this.name = name;
    server =
        address.listen(
            loops, channel -> HandshakeHandler.readClear(channel, join, unfinished, refusals));
  }

  /**
   * Listens, if there is to be such a socket.
   *
   * @param join takes each complete hello, on the event loop
   * @return empty: there is none
   * @throws IOException if the folder cannot have one; the message is for people
   */
  public static Optional<LocalSocket> open(
      LocalSocketOptions options, EventLoopGroup loops, BiConsumer<ClientHello, CallStream> join)
      throws IOException {
    return switch (options.kind()) {
      case NONE -> Optional.empty();
      case AUTO -> openAbstract(loops, join);
      case FILE -> Optional.of(openIn(options.requireFolder(), loops, join));
    };
  }

  private static Optional<LocalSocket> openAbstract(
      EventLoopGroup loops, BiConsumer<ClientHello, CallStream> join) {
    LocalSocketName name = LocalSocketName.randomAbstract(new SecureRandom());
    try {
      return Optional.of(new LocalSocket(name, new UnixAddress(name.text()), loops, join));
    } catch (RuntimeException e) {
      LOG.warn("call streams of this machine come over TCP, too: {}", e.getMessage());
      return Optional.empty();
    }
  }

  private static LocalSocket openIn(
      Path folder, EventLoopGroup loops, BiConsumer<ClientHello, CallStream> join)
      throws IOException {
    LocalSocketName name = LocalSocketName.randomFile(new SecureRandom());
    Path file = folder.resolve(name.text());
    try {
      removeStale(folder);
      UnixAddress address =
          UnixAddress.of(file)
              .orElseThrow(() -> new IOException("its path is too long for a socket"));
      LocalSocket socket = new LocalSocket(name, address, loops, join);
      Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-rw-rw-"));
      return socket;
    } catch (IOException | RuntimeException e) {
      throw new IOException(
          "cannot make a socket in "
              + folder
              + " ("
              + e.getMessage()
              + "); name a folder that this user can write to, or --local-socket none",
          e);
    }
  }

  /** Removes what killed servers left behind, but no socket of one that lives. */
  private static void removeStale(Path folder) throws IOException {
    try (DirectoryStream<Path> files = Files.newDirectoryStream(folder)) {
      for (Path file : files) {
        if (LocalSocketName.of(file.getFileName().toString()).isPresent() && isStale(file)) {
          Files.deleteIfExists(file);
        }
      }
    }
  }

  private static boolean isStale(Path file) {
    try {
      SocketChannel.open(UnixDomainSocketAddress.of(file)).close();
      return false;
    } catch (ConnectException e) {
      return true;
    } catch (IOException e) {
      LOG.debug("whether {} is in use is unknown: {}", file, e.getMessage());
      return false;
    }
  }

  /**
   * Returns the name that an agent may connect to; empty: another socket may have this name where
   * the agent is.
   *
   * @param namespace the agent's {@link NetworkNamespace#TEXT}
   */
  public Optional<LocalSocketName> nameFor(String namespace) {
    return name.isAbstract() && (namespace.isEmpty() || !namespace.equals(NetworkNamespace.TEXT))
        ? Optional.empty()
        : Optional.of(name);
  }

  /** Ends it, with its file. */
  public void close() {
    server.close();
    unfinished.close();
  }

  @Override
  public String toString() {
    return name.text();
  }
}
