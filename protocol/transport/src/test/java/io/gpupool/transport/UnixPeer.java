// SPDX-License-Identifier: Apache-2.0
package io.gpupool.transport;

import io.gpupool.wire.TextMessage;
import io.gpupool.wire.TextMessageReader;
import io.gpupool.wire.WireException;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Optional;
import java.util.OptionalInt;

/** A blocking unix socket that can receive descriptors: what a shim or a worker has, for tests. */
public final class UnixPeer implements AutoCloseable {
  private static final int AF_UNIX = 1;
  private static final int SOCK_STREAM_CLOEXEC = 1 | 02000000;
  private static final int MESSAGE_HEADER_BYTES = 56;
  private static final int CONTROL_BYTES = 24;
  private static final int CONTROL_DATA_OFFSET = 16;
  private static final MethodHandle SOCKET =
      function("socket", ValueLayout.JAVA_INT, ValueLayout.JAVA_INT, ValueLayout.JAVA_INT);
  private static final MethodHandle CONNECT =
      function("connect", ValueLayout.JAVA_INT, ValueLayout.ADDRESS, ValueLayout.JAVA_INT);
  private static final MethodHandle SETSOCKOPT =
      function(
          "setsockopt",
          ValueLayout.JAVA_INT,
          ValueLayout.JAVA_INT,
          ValueLayout.JAVA_INT,
          ValueLayout.ADDRESS,
          ValueLayout.JAVA_INT);
  private static final int SOL_SOCKET = 1;
  private static final int SO_RCVTIMEO = 20;
  private static final long RECEIVE_LIMIT_SECONDS = 60;
  private static final MethodHandle RECVMSG =
      longFunction("recvmsg", ValueLayout.JAVA_INT, ValueLayout.ADDRESS, ValueLayout.JAVA_INT);
  private static final MethodHandle SENDMSG =
      longFunction("sendmsg", ValueLayout.JAVA_INT, ValueLayout.ADDRESS, ValueLayout.JAVA_INT);
  private static final int SCM_RIGHTS = 1;
  private static final MethodHandle SEND =
      longFunction(
          "send",
          ValueLayout.JAVA_INT,
          ValueLayout.ADDRESS,
          ValueLayout.JAVA_LONG,
          ValueLayout.JAVA_INT);
  private static final int MSG_NOSIGNAL = 0x4000;
  private static final int MSG_CMSG_CLOEXEC = 0x40000000;

  private final int descriptor;
  private final TextMessageReader reader = new TextMessageReader();

  /** Connects; a read that takes too long gives what the end gives. */
  public UnixPeer(UnixAddress address) throws IOException {
    this(address, RECEIVE_LIMIT_SECONDS);
  }

  /** Connects without a limit, or with one, for its reads. */
  public UnixPeer(UnixAddress address, long limitSeconds) throws IOException {
    try (Arena arena = Arena.ofConfined()) {
      byte[] path = address.text().getBytes(StandardCharsets.UTF_8);
      if (address.isAbstract()) {
        path[0] = 0;
      }
      MemorySegment name = arena.allocate(2 + 108);
      name.set(ValueLayout.JAVA_SHORT, 0, (short) AF_UNIX);
      MemorySegment.copy(path, 0, name, ValueLayout.JAVA_BYTE, 2, path.length);
      int length = 2 + path.length + (address.isAbstract() ? 0 : 1);
      descriptor = (int) SOCKET.invokeExact(AF_UNIX, SOCK_STREAM_CLOEXEC, 0);
      MemorySegment limit = arena.allocate(16, 8);
      limit.set(ValueLayout.JAVA_LONG, 0, limitSeconds);
      int limited = (int) SETSOCKOPT.invokeExact(descriptor, SOL_SOCKET, SO_RCVTIMEO, limit, 16);
      if (limited != 0 || (int) CONNECT.invokeExact(descriptor, name, length) != 0) {
        Descriptors.close(descriptor);
        throw new IOException("cannot connect to " + address);
      }
    } catch (IOException | RuntimeException | Error e) {
      throw e;
    } catch (Throwable e) {
      throw new IllegalStateException(e);
    }
  }

  /** Takes a socket that is connected; its reads have no limit. */
  public UnixPeer(int descriptor) {
    this.descriptor = descriptor;
  }

  /** Sends a descriptor as a packet of one byte, as a worker does to the server. */
  public void sendDescriptor(int sent) throws IOException {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment vector = arena.allocate(16, 8);
      vector.set(ValueLayout.ADDRESS, 0, arena.allocate(1));
      vector.set(ValueLayout.JAVA_LONG, 8, 1);
      MemorySegment control = arena.allocate(CONTROL_BYTES, 8);
      control.set(ValueLayout.JAVA_LONG, 0, CONTROL_DATA_OFFSET + Integer.BYTES);
      control.set(ValueLayout.JAVA_INT, 8, SOL_SOCKET);
      control.set(ValueLayout.JAVA_INT, 12, SCM_RIGHTS);
      control.set(ValueLayout.JAVA_INT, CONTROL_DATA_OFFSET, sent);
      MemorySegment header = arena.allocate(MESSAGE_HEADER_BYTES, 8);
      header.set(ValueLayout.ADDRESS, 16, vector);
      header.set(ValueLayout.JAVA_LONG, 24, 1);
      header.set(ValueLayout.ADDRESS, 32, control);
      header.set(ValueLayout.JAVA_LONG, 40, CONTROL_BYTES);
      if ((long) SENDMSG.invokeExact(descriptor, header, MSG_NOSIGNAL) != 1) {
        throw new IOException("peer takes no descriptor");
      }
    } catch (IOException | RuntimeException | Error e) {
      throw e;
    } catch (Throwable e) {
      throw new IllegalStateException(e);
    }
  }

  /** The socket itself. */
  public int descriptor() {
    return descriptor;
  }

  public void send(TextMessage message) throws IOException {
    send(message.encode());
  }

  public void send(byte[] bytes) throws IOException {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment buffer = arena.allocateFrom(ValueLayout.JAVA_BYTE, bytes);
      for (long sent = 0; sent < bytes.length; ) {
        long count =
            (long)
                SEND.invokeExact(
                    descriptor, buffer.asSlice(sent), bytes.length - sent, MSG_NOSIGNAL);
        if (count < 0) {
          throw new IOException("peer is gone");
        }
        sent += count;
      }
    } catch (IOException | RuntimeException | Error e) {
      throw e;
    } catch (Throwable e) {
      throw new IllegalStateException(e);
    }
  }

  /** The next message, or empty when the peer has closed. Takes no byte beyond it. */
  public Optional<TextMessage> receive() throws IOException, WireException {
    while (true) {
      byte[] bytes = new byte[reader.missingBytes()];
      int count = read(bytes, false).count;
      if (count <= 0) {
        return Optional.empty();
      }
      Optional<TextMessage> message = reader.read(ByteBuffer.wrap(bytes, 0, count));
      if (message.isPresent()) {
        return message;
      }
    }
  }

  /** The descriptor that comes with the next byte, or empty when the peer has closed. */
  public OptionalInt receiveDescriptor() throws IOException {
    Read read = read(new byte[1], true);
    return read.count == 1 && read.descriptor >= 0
        ? OptionalInt.of(read.descriptor)
        : OptionalInt.empty();
  }

  /** Reads what is there; 0 at the end. */
  public int receive(byte[] into) throws IOException {
    return read(into, false).count;
  }

  @Override
  public void close() throws IOException {
    Descriptors.close(descriptor);
  }

  private record Read(int count, int descriptor) {}

  private Read read(byte[] into, boolean wantsDescriptor) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment buffer = arena.allocate(into.length);
      MemorySegment vector = arena.allocate(16, 8);
      vector.set(ValueLayout.ADDRESS, 0, buffer);
      vector.set(ValueLayout.JAVA_LONG, 8, into.length);
      MemorySegment control = arena.allocate(CONTROL_BYTES, 8);
      MemorySegment header = arena.allocate(MESSAGE_HEADER_BYTES, 8);
      header.set(ValueLayout.ADDRESS, 16, vector);
      header.set(ValueLayout.JAVA_LONG, 24, 1);
      if (wantsDescriptor) {
        header.set(ValueLayout.ADDRESS, 32, control);
        header.set(ValueLayout.JAVA_LONG, 40, CONTROL_BYTES);
      }
      long count = (long) RECVMSG.invokeExact(descriptor, header, MSG_CMSG_CLOEXEC);
      if (count > 0) {
        MemorySegment.copy(buffer, ValueLayout.JAVA_BYTE, 0, into, 0, (int) count);
      }
      boolean passed = wantsDescriptor && header.get(ValueLayout.JAVA_LONG, 40) >= 20;
      return new Read(
          (int) count, passed ? control.get(ValueLayout.JAVA_INT, CONTROL_DATA_OFFSET) : -1);
    } catch (RuntimeException | Error e) {
      throw e;
    } catch (Throwable e) {
      throw new IllegalStateException(e);
    }
  }

  private static MethodHandle function(String name, java.lang.foreign.MemoryLayout... arguments) {
    return Linker.nativeLinker()
        .downcallHandle(
            Linker.nativeLinker().defaultLookup().findOrThrow(name),
            FunctionDescriptor.of(ValueLayout.JAVA_INT, arguments));
  }

  private static MethodHandle longFunction(
      String name, java.lang.foreign.MemoryLayout... arguments) {
    return Linker.nativeLinker()
        .downcallHandle(
            Linker.nativeLinker().defaultLookup().findOrThrow(name),
            FunctionDescriptor.of(ValueLayout.JAVA_LONG, arguments));
  }
}
