// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.state.etcd;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import com.google.protobuf.ByteString;
import io.gpupool.server.state.Change;
import io.gpupool.server.state.Commit;
import io.gpupool.server.state.Condition;
import io.gpupool.server.state.Entry;
import io.gpupool.server.state.StateException;
import io.gpupool.server.state.Write;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The store over a real etcd of three members, of which some die. */
class EtcdStoreIT {
  private static final Duration LIMIT = Duration.ofSeconds(30);
  private static final Duration SOON = Duration.ofSeconds(1);
  private static final int TTL_SECONDS = 3;
  private static final int LONG_TTL_SECONDS = 8;
  private static final AtomicInteger PREFIXES = new AtomicInteger();

  @TempDir static Path folder;
  private static Etcd etcd;

  private final String prefix = "t" + PREFIXES.incrementAndGet();

  @BeforeAll
  static void start() throws Exception {
    etcd = Etcd.start(folder, 3);
  }

  @AfterAll
  static void stop() throws Exception {
    if (etcd != null) {
      etcd.close();
    }
  }

  @Test
  void commit_onTwoServers_eachSeesTheOthersAndConflictsAreTold() throws Exception {
    try (EtcdStore one = open("one");
        EtcdStore two = open("two")) {
      List<Change> heard = Collections.synchronizedList(new ArrayList<>());
      two.watch("a/", heard::addAll);
      Commit.Done done = (Commit.Done) one.commit(List.of(), List.of(put("a/1", "x")));
      assertThat(one.get("a/1").orElseThrow().revision()).isEqualTo(done.revision());
      await().atMost(LIMIT).until(() -> two.get("a/1").equals(one.get("a/1")));
      assertThat(heard).extracting(Change::key).containsExactly("a/1");

      assertThat(
              two.commit(
                  List.of(new Condition("b", 0), new Condition("a/1", done.revision())),
                  List.of(put("b", "y"), new Write.Delete("a/1"))))
          .isInstanceOf(Commit.Done.class);
      assertThat(one.commit(List.of(new Condition("a/1", done.revision())), List.of(put("c", "z"))))
          .isEqualTo(new Commit.Conflict("a/1"));
      assertThat(one.get("a/1")).as("heard of before the conflict is told").isEmpty();
      assertThat(one.read("").entries()).extracting(Entry::key).containsExactly("b");
    }
    try (EtcdStore again = open("one")) {
      assertThat(again.read("").entries()).extracting(Entry::key).containsExactly("b");
    }
  }

  @Test
  void boundKeys_serverClosesOrDies_areGoneAndTheOthersHear() throws Exception {
    try (EtcdStore one = open("one")) {
      try (EtcdStore two = open("two")) {
        two.commit(List.of(), List.of(new Write.Put("here", bytes("x"), true), put("stays", "y")));
        await().atMost(LIMIT).until(() -> one.get("here").isPresent());
        assertThat(one.get("here").orElseThrow().bound()).isTrue();
        assertThatThrownBy(() -> EtcdStore.open(options(etcd.url(prefix)), "two", LIMIT))
            .isInstanceOf(StateException.class)
            .hasMessageContaining("'two' is in this pool already");
      }
      await().atMost(LIMIT).until(() -> one.get("here").isEmpty());
      assertThat(one.get("stays")).isPresent();
    }
  }

  /** Whoever increments reads, writes on that condition, and is told the truth: the sum tells. */
  @Test
  void commits_leaderDiesAndMembersFreeze_noneIsLostNoneIsDoneTwice() throws Exception {
    int servers = 3;
    int each = Integer.getInteger("gpupool.etcd.increments", 150);
    List<EtcdStore> stores = new ArrayList<>();
    try (ExecutorService threads = Executors.newFixedThreadPool(servers)) {
      for (int i = 0; i < servers; i++) {
        stores.add(open("s" + i));
      }
      List<Future<Integer>> sums = new ArrayList<>();
      for (EtcdStore store : stores) {
        sums.add(threads.submit(incrementing(store, each, sums.size())));
      }
      Thread.sleep(300);
      int leader = etcd.leader();
      etcd.kill(leader);
      Thread.sleep(1500);
      etcd.launch(leader);
      int next = etcd.leader();
      etcd.freeze(next, true);
      Thread.sleep(1500);
      etcd.freeze(next, false);
      for (Future<Integer> sum : sums) {
        assertThat(sum.get()).isEqualTo(each);
      }
      for (EtcdStore store : stores) {
        await().atMost(LIMIT).untilAsserted(() -> assertThat(sum(store)).isEqualTo(servers * each));
      }
    } finally {
      stores.forEach(EtcdStore::close);
    }
  }

  private static Callable<Integer> incrementing(EtcdStore store, int times, int seed) {
    return () -> {
      Random random = new Random(seed);
      int done = 0;
      long deadline = System.nanoTime() + LIMIT.multipliedBy(4).toNanos();
      while (done < times && System.nanoTime() < deadline) {
        String key = "n/" + random.nextInt(4);
        Optional<Entry> before = store.get(key);
        int value = before.map(e -> Integer.parseInt(e.value().toStringUtf8())).orElse(0);
        try {
          Commit end =
              store.commit(
                  List.of(new Condition(key, before.map(Entry::revision).orElse(0L))),
                  List.of(put(key, Integer.toString(value + 1))));
          done += end instanceof Commit.Done ? 1 : 0;
        } catch (StateException e) {
          assertThat(e.getMessage()).doesNotContain("not known yet");
          Thread.sleep(50);
        }
      }
      return done;
    };
  }

  private static int sum(EtcdStore store) {
    return store.read("n/").entries().stream()
        .mapToInt(e -> Integer.parseInt(e.value().toStringUtf8()))
        .sum();
  }

  @Test
  void server_cutOffFromEtcd_stopsBeforeEtcdGivesItUpAndComesBack() throws Exception {
    try (Cut cut = Cut.before(etcd.endpoints().split(",")[0]);
        EtcdStore watching = open("other");
        EtcdStore store =
            EtcdStore.open(
                options("etcd://127.0.0.1:" + cut.port() + "/" + prefix, LONG_TTL_SECONDS),
                "cut")) {
      store.commit(List.of(), List.of(new Write.Put("mine", bytes("x"), true), put("k", "1")));
      await().atMost(LIMIT).until(() -> watching.get("mine").isPresent());
      cut.sever();
      await().atMost(LIMIT).until(() -> store.trouble().isPresent());
      assertThat(watching.get("mine")).as("given up by etcd only later").isPresent();
      assertThatThrownBy(() -> store.commit(List.of(), List.of(put("k", "2"))))
          .isInstanceOf(StateException.class)
          .hasMessageContaining("lost its connection to etcd");
      await().atMost(LIMIT).until(() -> watching.get("mine").isEmpty());
      watching.commit(List.of(), List.of(put("k", "3")));
      cut.heal();
      await().atMost(LIMIT).until(() -> store.trouble().isEmpty());
      await().atMost(LIMIT).until(() -> store.get("k").equals(watching.get("k")));
      assertThat(store.get("mine")).isEmpty();
      assertThat(store.commit(List.of(), List.of(put("k", "4")))).isInstanceOf(Commit.Done.class);
    }
  }

  @Test
  void watch_etcdHasCompactedWhatCame_everythingIsReadAgain() throws Exception {
    try (Cut cut = Cut.before(etcd.endpoints().split(",")[0]);
        EtcdStore writer = open("writer");
        EtcdStore store =
            EtcdStore.open(options("etcd://127.0.0.1:" + cut.port() + "/" + prefix), "reader")) {
      writer.commit(List.of(), List.of(put("a", "1"), put("b", "1")));
      await().atMost(LIMIT).until(() -> store.get("b").isPresent());
      TreeMap<String, Boolean> heard = new TreeMap<>();
      store.watch("", changes -> changes.forEach(c -> heard.put(c.key(), c.entry() != null)));
      cut.sever();
      writer.commit(List.of(), List.of(new Write.Delete("a"), put("c", "1")));
      long last = ((Commit.Done) writer.commit(List.of(), List.of(put("b", "2")))).revision();
      etcd.compact(last);
      cut.heal();
      await()
          .atMost(LIMIT)
          .untilAsserted(
              () -> assertThat(store.read("").entries()).isEqualTo(writer.read("").entries()));
      assertThat(heard).containsEntry("a", false).containsEntry("b", true).containsEntry("c", true);
    }
  }

  @Test
  void open_nobodyThere_saysWhatToLookAt() {
    assertThatThrownBy(() -> EtcdStore.open(options("etcd://127.0.0.1:1/x"), "one", SOON))
        .isInstanceOf(StateException.class)
        .hasMessageContaining("127.0.0.1:1")
        .hasMessageContaining("is it running");
  }

  private EtcdStore open(String server) throws StateException {
    return EtcdStore.open(options(etcd.url(prefix)), server);
  }

  private static EtcdOptions options(String url) {
    return options(url, TTL_SECONDS);
  }

  private static EtcdOptions options(String url, int ttlSeconds) {
    return EtcdOptions.parse(url, null, null, null, ttlSeconds);
  }

  private static Write put(String key, String value) {
    return new Write.Put(key, bytes(value), false);
  }

  private static ByteString bytes(String text) {
    return ByteString.copyFromUtf8(text);
  }
}
