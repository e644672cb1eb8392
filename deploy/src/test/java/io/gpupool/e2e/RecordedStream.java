// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * What a real program sent to an agent that relays: the message that attaches it, and the frames of
 * its calls.
 */
record RecordedStream(byte[] attach, List<byte[]> frames) {
  private static final int MESSAGE_HEADER_BYTES = 8;
  private static final int FRAME_HEADER_BYTES = 8;

  /** Runs a program to its end with a tap between it and the agent. */
  static RecordedStream of(Agent agent, Path folder, Object... command) throws Exception {
    Path tap = folder.resolve("tap.sock");
    ByteArrayOutputStream sent = new ByteArrayOutputStream();
    try (ServerSocketChannel server = ServerSocketChannel.open(StandardProtocolFamily.UNIX)) {
      server.bind(UnixDomainSocketAddress.of(tap));
      // Only a stream that cannot be resumed is relayed on the agent's own connection.
      Program.Builder tapped =
          agent.program(command).with("GPUPOOL_AGENT", tap).with("GPUPOOL_RESUME_WINDOW", "0");
      try (Program program = tapped.start();
          SocketChannel client = server.accept();
          SocketChannel toAgent = SocketChannel.open(UnixDomainSocketAddress.of(agent.socket()))) {
        Thread answers = Thread.ofPlatform().start(() -> pump(toAgent, client, null));
        pump(client, toAgent, sent);
        toAgent.shutdownOutput();
        answers.join();
        Program.Ended ended = program.awaitEnd();
        if (ended.status() != 0) {
          throw new AssertionError("the program failed behind the tap: " + ended);
        }
      }
    }
    return split(sent.toByteArray());
  }

  /** A session of its own, opened as the program opened its; the attach message is answered. */
  SocketChannel attachTo(Agent agent) throws IOException {
    SocketChannel channel = SocketChannel.open(UnixDomainSocketAddress.of(agent.socket()));
    channel.write(ByteBuffer.wrap(attach));
    ByteBuffer header = read(channel, MESSAGE_HEADER_BYTES);
    byte[] text = read(channel, header.getInt(Integer.BYTES)).array();
    if (!new String(text, UTF_8).contains("mode=relay")) {
      channel.close();
      throw new AssertionError("not attached: " + new String(text, UTF_8));
    }
    return channel;
  }

  private static RecordedStream split(byte[] bytes) {
    ByteBuffer sent = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
    byte[] attach = new byte[MESSAGE_HEADER_BYTES + sent.getInt(Integer.BYTES)];
    sent.get(attach);
    List<byte[]> frames = new ArrayList<>();
    while (sent.remaining() >= FRAME_HEADER_BYTES) {
      byte[] frame = new byte[sent.getInt(sent.position())];
      sent.get(frame);
      frames.add(frame);
    }
    return new RecordedStream(attach, List.copyOf(frames));
  }

  private static ByteBuffer read(SocketChannel channel, int lengthBytes) throws IOException {
    ByteBuffer bytes = ByteBuffer.allocate(lengthBytes).order(ByteOrder.LITTLE_ENDIAN);
    while (bytes.hasRemaining()) {
      if (channel.read(bytes) < 0) {
        throw new IOException("the agent closed the connection");
      }
    }
    return bytes.flip();
  }

  private static void pump(SocketChannel from, SocketChannel to, ByteArrayOutputStream copy) {
    ByteBuffer bytes = ByteBuffer.allocate(1 << 16);
    try {
      while (from.read(bytes.clear()) >= 0) {
        bytes.flip();
        if (copy != null) {
          copy.write(bytes.array(), 0, bytes.limit());
        }
        while (bytes.hasRemaining()) {
          to.write(bytes);
        }
      }
    } catch (IOException e) {
      // One of the two has ended; what was sent until then is what counts.
    }
  }
}
