// SPDX-License-Identifier: Apache-2.0
package io.gpupool.agent;

import io.gpupool.transport.Descriptors;
import io.gpupool.transport.UnixAddress;
import io.gpupool.transport.UnixPeer;
import io.gpupool.wire.TextMessage;
import io.netty.channel.unix.FileDescriptor;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalInt;

/** The program's side of the agent's socket, as the shim would be. */
final class Shim implements AutoCloseable {
  final UnixPeer socket;
  private OptionalInt stream = OptionalInt.empty();
  private final List<Integer> further = new ArrayList<>();
  TextMessage answer;

  Shim(UnixAddress agent) throws IOException {
    socket = new UnixPeer(agent);
  }

  static TextMessage.Builder attach() {
    return TextMessage.ofType("attach")
        .put("protocol", 1)
        .put("pid", ProcessHandle.current().pid())
        .put("program", "shim");
  }

  /** Asks for another stream of the session that a shim has lost. */
  static TextMessage.Builder resume(Shim broken) {
    return TextMessage.ofType("resume")
        .put("protocol", 1)
        .put("pid", ProcessHandle.current().pid())
        .put("program", "shim")
        .put("lease", "L1.secret")
        .put("session", broken.get("session.0"))
        .put("session_key", broken.get("session_key.0"))
        .put("server", broken.get("server.0"))
        .put("resume_window", broken.get("resume_window"));
  }

  /** Sends a message and gives the answer. */
  TextMessage ask(TextMessage message) throws Exception {
    socket.send(message);
    return socket.receive().orElseThrow();
  }

  /** Gives the answer that follows what the agent says of its wait. */
  TextMessage afterWaiting() throws Exception {
    TextMessage said = socket.receive().orElseThrow();
    while (said.type().equals("waiting")) {
      said = socket.receive().orElseThrow();
    }
    return said;
  }

  /** Attaches or resumes, and takes the descriptor if one comes. */
  TextMessage attach(TextMessage.Builder request) throws Exception {
    answer = ask(request.build());
    if (answer.get("mode").orElse("").equals("descriptor") || answer.type().equals("resumed")) {
      stream = OptionalInt.of(socket.receiveDescriptor().orElseThrow());
      for (int link = 1; link < Integer.parseInt(answer.get("streams").orElse("1")); link++) {
        further.add(socket.receiveDescriptor().orElseThrow());
      }
    } else if (answer.type().equals("attached")) {
      stream = OptionalInt.of(socket.descriptor());
    }
    return answer;
  }

  /** A value of the answer. */
  String get(String key) {
    return answer.get(key).orElseThrow(() -> new AssertionError(key + " in " + answer));
  }

  void write(byte[] bytes) throws IOException {
    write(stream.orElseThrow(), bytes);
  }

  private static void write(int stream, byte[] bytes) throws IOException {
    FileDescriptor to = new FileDescriptor(stream);
    ByteBuffer buffer = ByteBuffer.allocateDirect(bytes.length).put(bytes);
    for (int sent = 0; sent < bytes.length; ) {
      sent += to.write(buffer, sent, bytes.length);
    }
  }

  /** Reads up to a newline; null when the stream ends before. */
  String readLine() throws IOException {
    return readLine(stream.orElseThrow());
  }

  private static String readLine(int stream) throws IOException {
    FileDescriptor from = new FileDescriptor(stream);
    ByteBuffer buffer = ByteBuffer.allocateDirect(64 * 1024);
    StringBuilder line = new StringBuilder();
    while (true) {
      int count;
      try {
        count = from.read(buffer, 0, buffer.capacity());
      } catch (IOException e) {
        return null;
      }
      if (count <= 0) {
        return null;
      }
      byte[] bytes = new byte[count];
      buffer.get(0, bytes);
      line.append(new String(bytes, StandardCharsets.US_ASCII));
      if (bytes[count - 1] == '\n') {
        return line.substring(0, line.length() - 1);
      }
    }
  }

  String say(String line) throws IOException {
    write((line + "\n").getBytes(StandardCharsets.US_ASCII));
    return readLine();
  }

  /** The same on the stream to one of several servers. */
  String say(int link, String line) throws IOException {
    int to = link == 0 ? stream.orElseThrow() : further.get(link - 1);
    write(to, (line + "\n").getBytes(StandardCharsets.US_ASCII));
    return readLine(to);
  }

  @Override
  public void close() throws IOException {
    for (int descriptor : further) {
      Descriptors.close(descriptor);
    }
    if (stream.isPresent() && stream.getAsInt() != socket.descriptor()) {
      Descriptors.close(stream.getAsInt());
    }
    socket.close();
  }
}
