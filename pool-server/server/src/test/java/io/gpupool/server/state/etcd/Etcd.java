// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.state.etcd;

import io.gpupool.server.FreePort;
import java.io.IOException;
import java.net.HttpURLConnection;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Assumptions;

/** A real etcd on loopback, of one member or several, each of which can be killed. */
public final class Etcd implements AutoCloseable {
  private static final long START_NANOS = TimeUnit.SECONDS.toNanos(30);
  private static final long POLL_MILLIS = 20;

  private final EtcdRunner runner;
  private final List<Member> members = new ArrayList<>();

  private static final class Member {
    private final String name;
    private final int clientPort;
    private final int peerPort;
    private final Path folder;
    private EtcdRunner.@Nullable Member running;

    Member(String name, int clientPort, int peerPort, Path folder) {
      this.name = name;
      this.clientPort = clientPort;
      this.peerPort = peerPort;
      this.folder = folder;
    }
  }

  private Etcd(EtcdRunner runner) {
    this.runner = runner;
  }

  /** Skips the test, with a message, where there is no etcd. */
  public static Etcd start(Path folder, int size) throws Exception {
    EtcdRunner runner = EtcdRunner.any();
    Assumptions.assumeTrue(
        runner.obstacle().isEmpty(), () -> "skipped: " + runner.obstacle().orElseThrow());
    Etcd etcd = new Etcd(runner);
    for (int i = 0; i < size; i++) {
      etcd.members.add(
          new Member(
              "m" + i,
              FreePort.find(),
              FreePort.find(),
              Files.createDirectory(folder.resolve("m" + i))));
    }
    try {
      for (int i = 0; i < size; i++) {
        etcd.launch(i);
      }
      etcd.awaitReady();
    } catch (Exception | Error e) {
      etcd.close();
      throw e;
    }
    return etcd;
  }

  /** {@code HOST:PORT,...} of all members. */
  public String endpoints() {
    return String.join(",", members.stream().map(m -> "127.0.0.1:" + m.clientPort).toList());
  }

  /** As a server's {@code --state} names it. */
  public String url(String prefix) {
    return "etcd://" + endpoints() + "/" + prefix;
  }

  /** Starts a member, or again with what it has on disk. */
  public void launch(int index) throws IOException {
    Member member = members.get(index);
    String peers = String.join(",", members.stream().map(m -> m.name + "=" + peerUrl(m)).toList());
    member.running =
        runner.start(
            member.folder,
            List.of(
                "--name",
                member.name,
                "--data-dir",
                member.folder.resolve("data").toString(),
                "--listen-client-urls",
                clientUrl(member),
                "--advertise-client-urls",
                clientUrl(member),
                "--listen-peer-urls",
                peerUrl(member),
                "--initial-advertise-peer-urls",
                peerUrl(member),
                "--initial-cluster",
                peers,
                "--initial-cluster-state",
                "new",
                "--log-level",
                "error"));
  }

  public void kill(int index) throws InterruptedException {
    running(index).kill();
  }

  /** Stops a member's process where it is, or lets it go on. */
  public void freeze(int index, boolean frozen) throws Exception {
    running(index).freeze(frozen);
  }

  /** The member that leads, once there is one. */
  public int leader() throws Exception {
    for (long deadline = System.nanoTime() + START_NANOS; System.nanoTime() < deadline; ) {
      for (int i = 0; i < members.size(); i++) {
        String status = status(i);
        String id = field(status, "member_id");
        if (!id.isEmpty() && id.equals(field(status, "leader"))) {
          return i;
        }
      }
      Thread.sleep(POLL_MILLIS);
    }
    throw new IOException("etcd has no leader");
  }

  /** Forgets what was before this revision. */
  public void compact(long revision) throws Exception {
    String answer = post(leader(), "/v3/kv/compaction", "{\"revision\": " + revision + "}");
    if (!answer.contains("header")) {
      throw new IOException(answer);
    }
  }

  private void awaitReady() throws Exception {
    leader();
    for (int i = 0; i < members.size(); i++) {
      long deadline = System.nanoTime() + START_NANOS;
      while (field(status(i), "leader").isEmpty() || field(status(i), "leader").equals("0")) {
        if (System.nanoTime() > deadline || !running(i).isAlive()) {
          throw new IOException(
              "etcd does not start: " + Files.readString(members.get(i).folder.resolve("log")));
        }
        Thread.sleep(POLL_MILLIS);
      }
    }
  }

  private String status(int index) {
    try {
      return post(index, "/v3/maintenance/status", "{}");
    } catch (IOException e) {
      return "";
    }
  }

  private String post(int index, String path, String body) throws IOException {
    HttpURLConnection ask =
        (HttpURLConnection)
            URI.create(clientUrl(members.get(index)) + path).toURL().openConnection();
    ask.setConnectTimeout(500);
    ask.setReadTimeout(2000);
    ask.setRequestMethod("POST");
    ask.setDoOutput(true);
    ask.getOutputStream().write(body.getBytes(StandardCharsets.US_ASCII));
    return new String(ask.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
  }

  private static String field(String json, String name) {
    int at = json.indexOf("\"" + name + "\":\"");
    return at < 0
        ? ""
        : json.substring(at + name.length() + 4, json.indexOf('"', at + name.length() + 4));
  }

  private static String clientUrl(Member member) {
    return "http://127.0.0.1:" + member.clientPort;
  }

  private static String peerUrl(Member member) {
    return "http://127.0.0.1:" + member.peerPort;
  }

  @Override
  public void close() {
    for (Member member : members) {
      if (member.running != null) {
        end(member.running);
      }
    }
  }

  private static void end(EtcdRunner.Member member) {
    try {
      member.kill();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private EtcdRunner.Member running(int index) {
    return Objects.requireNonNull(members.get(index).running);
  }
}
