// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker;

import io.gpupool.transport.UnixAddress;
import io.gpupool.transport.UnixListener;
import io.gpupool.transport.UnixPeer;
import io.gpupool.wire.TextMessage;
import java.io.BufferedReader;
import java.io.FileDescriptor;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.concurrent.CopyOnWriteArrayList;

/**
 * A worker for the server's own tests: speaks the real control protocol in a real process, and on
 * the call stream obeys lines of text instead of CUDA calls.
 */
public final class WorkerMain {
  private static volatile boolean stubborn;
  private static volatile boolean staying;
  private static volatile int claimedProtocol = 1;
  private static volatile boolean wrongFiles;
  private static volatile TextMessage assignment;
  private static volatile int ledger;
  private static volatile int schedule;
  private static volatile UnixPeer server;
  private static final List<String> SHARED = new CopyOnWriteArrayList<>();
  private static final TestPeers PEERS = new TestPeers();

  private WorkerMain() {}

  public static void main(String[] arguments) throws Exception {
    List<String> options = List.of(arguments);
    if (options.contains("--probe")) {
      probe(options);
      return;
    }
    Optional<UnixListener> listener =
        options.contains("--listen")
            ? Optional.of(new UnixListener(options.get(options.indexOf("--listen") + 1)))
            : Optional.empty();
    try (UnixPeer control =
        new UnixPeer(new UnixAddress(options.get(options.indexOf("--control") + 1)), 0)) {
      control.send(hello().build());
      control.send(TextMessage.ofType("ready").build());
      serve(control);
    }
    while (listener.isPresent() && assignment != null && staying) {
      try (UnixPeer control = new UnixPeer(listener.get().accept())) {
        if (claim(control)) {
          serve(control);
        }
      }
    }
    if (!stubborn) {
      Runtime.getRuntime().halt(0);
    }
    Thread.sleep(60_000);
  }

  private static TextMessage.Builder hello() {
    return TextMessage.ofType("hello")
        .put("pid", ProcessHandle.current().pid())
        .put("token", System.getenv("GPUPOOL_WORKER_TOKEN"));
  }

  /** Says to a later process of the server what the former one knew. */
  private static boolean claim(UnixPeer control) throws Exception {
    Optional<TextMessage> claim = control.receive();
    OptionalInt inbox = control.receiveDescriptor();
    if (claim.isEmpty() || inbox.isEmpty()) {
      return false;
    }
    UnixPeer handOver = new UnixPeer(inbox.getAsInt());
    handOver.sendDescriptor(ledger);
    handOver.sendDescriptor(wrongFiles ? ledger : schedule);
    control.send(
        hello()
            .put("protocol", claimedProtocol)
            .put("session", assignment.get("session").orElseThrow())
            .put("state", "attached")
            .put("files", 2)
            .build());
    for (String shared : SHARED) {
      control.send(
          TextMessage.ofType("share")
              .put("what", "offer")
              .put("kind", "memory")
              .put("gpu", 0)
              .put("bytes", 4096)
              .put("handle", "00")
              .put("token", shared)
              .build());
    }
    control.send(TextMessage.ofType("claimed").build());
    control.send(TextMessage.ofType("stats").put("calls", 11).build());
    return true;
  }

  /** Does what the server says until that is gone. */
  private static void serve(UnixPeer control) throws Exception {
    server = control;
    Optional<TextMessage> message = control.receive();
    while (message.isPresent()) {
      if (message.get().type().equals("assign")) {
        assignment = message.get();
        ledger = control.receiveDescriptor().orElseThrow();
        int turns = control.receiveDescriptor().orElseThrow();
        schedule = turns;
        int inbox = control.receiveDescriptor().orElseThrow();
        new FileInputStream(plain(inbox)).close();
      } else if (message.get().type().equals("peer")) {
        PEERS.take(message.get(), control);
      } else if (message.get().type().equals("end")) {
        Runtime.getRuntime().halt(0);
      } else if (message.get().type().equals("shared")) {
        message.get().get("token").ifPresent(SHARED::add);
      } else {
        int stream = control.receiveDescriptor().orElseThrow();
        if (staying) {
          control.send(TextMessage.ofType("resumed").build());
        }
        Thread.ofPlatform().start(() -> serve(stream));
      }
      message = control.receive();
    }
  }

  private static void probe(List<String> options) {
    String gpus = options.get(options.indexOf("--gpus") + 1);
    if (gpus.equals("all")) {
      System.err.println("no libcuda.so.1 here");
      System.exit(3);
    }
    int count = Integer.parseInt(gpus.split("[:,]")[1]);
    for (int i = 0; i < count; i++) {
      System.out.println(
          "ordinal=" + i + " uuid=u" + i + " memory=8589934592 cc=9.0 driver=13000 name=Test GPU");
    }
  }

  /** Blocking reads and writes, which need a blocking descriptor. */
  private static void serve(int stream) {
    FileDescriptor plain = plain(stream);
    try (BufferedReader in =
            new BufferedReader(
                new InputStreamReader(new FileInputStream(plain), StandardCharsets.UTF_8));
        OutputStream out = new FileOutputStream(plain)) {
      for (String line = in.readLine(); line != null; line = in.readLine()) {
        String[] words = line.split(" ");
        String answer =
            switch (words[0]) {
              case "echo" -> words[1];
              case "gpus" -> assignment.get("gpus").orElseThrow();
              case "slot" -> assignment.get("addressSlot").orElseThrow();
              case "connect" -> PEERS.connect(words[1], words[2], words[3], server);
              case "tell" -> PEERS.tell(words[1], words[2]);
              case "hear" -> PEERS.hear(words[1]);
              case "use" -> use(Long.parseLong(words[1]));
              case "stubborn" -> {
                stubborn = true;
                yield "ok";
              }
              case "stay" -> {
                staying = true;
                yield "ok";
              }
              case "protocol" -> {
                claimedProtocol = Integer.parseInt(words[1]);
                yield "ok";
              }
              case "cheat" -> {
                wrongFiles = true;
                yield "ok";
              }
              case "share" -> {
                server.send(
                    TextMessage.ofType("share")
                        .put("what", "offer")
                        .put("request", 1)
                        .put("kind", "memory")
                        .put("gpu", 0)
                        .put("bytes", 4096)
                        .put("handle", "00")
                        .build());
                yield "ok";
              }
              case "slots" -> assignment.get("leaseSlots").orElse("none");
              case "window" -> assignment.get("resumeWindow").orElse("none");
              case "stats" -> {
                server.send(
                    TextMessage.ofType("stats").put("calls", 7).put("lastError", "e").build());
                yield "ok";
              }
              case "crash" -> {
                Runtime.getRuntime().halt(9);
                yield "";
              }
              default -> "what?";
            };
        out.write((answer + "\n").getBytes(StandardCharsets.UTF_8));
      }
      server.send(
          TextMessage.ofType(staying ? "disconnected" : "ended")
              .put("reason", "end of stream")
              .build());
    } catch (IOException e) {
      Runtime.getRuntime().halt(1);
    }
  }

  private static String use(long bytes) throws IOException {
    try (FileChannel file =
        FileChannel.open(
            Path.of("/proc/self/fd/" + ledger),
            StandardOpenOption.READ,
            StandardOpenOption.WRITE)) {
      ByteBuffer words =
          file.map(FileChannel.MapMode.READ_WRITE, 0, file.size()).order(ByteOrder.nativeOrder());
      int slot = Integer.parseInt(assignment.get("slot").orElseThrow());
      words.putLong(0, words.getLong(0) + bytes);
      words.putLong(8 * (1 + slot), words.getLong(8 * (1 + slot)) + bytes);
      return "ok";
    }
  }

  static FileDescriptor plain(int descriptor) {
    try {
      var constructor = FileDescriptor.class.getDeclaredConstructor(int.class);
      constructor.setAccessible(true);
      return constructor.newInstance(descriptor);
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException(e);
    }
  }
}
