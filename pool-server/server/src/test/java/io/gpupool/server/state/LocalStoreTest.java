// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.state;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.google.protobuf.ByteString;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class LocalStoreTest {
  private static final String JOURNAL = "state.journal";
  @TempDir Path folder;

  @Test
  void commit_randomOnes_areWhatAPlainMapSaysAlsoAfterReopening() throws Exception {
    for (int seed = 0; seed < 5; seed++) {
      Random random = new Random(seed);
      Path place = folder.resolve("s" + seed);
      Map<String, ByteString> expected = new TreeMap<>();
      LocalStore store = LocalStore.open(place);
      for (int i = 0; i < 40; i++) {
        List<Write> writes = writes(random, false);
        assertThat(store.commit(List.of(), writes)).isEqualTo(new Commit.Done(revision(store)));
        apply(expected, writes);
        if (random.nextInt(10) == 0) {
          long before = revision(store);
          store.close();
          store = LocalStore.open(place);
          assertThat(revision(store)).isEqualTo(before);
        }
        assertThat(values(store)).isEqualTo(expected);
      }
      store.close();
    }
  }

  @Test
  void commit_conditionThatHoldsNoMore_changesNothing() throws Exception {
    try (LocalStore store = LocalStore.inMemory()) {
      store.commit(List.of(new Condition("a", 0)), List.of(put("a", "1")));
      long revision = store.get("a").orElseThrow().revision();
      store.commit(List.of(new Condition("a", revision)), List.of(put("a", "2")));
      assertThat(
              store.commit(
                  List.of(new Condition("b", 0), new Condition("a", revision)),
                  List.of(put("b", "x"), put("a", "3"))))
          .isEqualTo(new Commit.Conflict("a"));
      assertThat(store.commit(List.of(new Condition("a", 0)), List.of(put("a", "4"))))
          .isInstanceOf(Commit.Conflict.class);
      assertThat(values(store)).isEqualTo(Map.of("a", ByteString.copyFromUtf8("2")));
    }
  }

  @Test
  void watch_changesOfItsPrefix_areHeardInOrderBeforeTheCommitReturns() throws Exception {
    try (LocalStore store = LocalStore.inMemory()) {
      store.commit(List.of(), List.of(put("a/1", "x"), put("b/1", "y")));
      List<Change> heard = new ArrayList<>();
      Listing before = store.watch("a/", heard::addAll);
      assertThat(before.entries()).extracting(Entry::key).containsExactly("a/1");
      store.commit(List.of(), List.of(put("b/2", "z")));
      assertThat(heard).isEmpty();
      store.commit(List.of(), List.of(put("a/2", "z"), new Write.Delete("a/1")));
      assertThat(heard).extracting(Change::key).containsExactly("a/2", "a/1");
      assertThat(heard.get(1).entry()).isNull();
      assertThat(heard).allMatch(change -> change.revision() > before.revision());
    }
  }

  @Test
  void open_boundKeys_areGoneWithTheServerThatWroteThem() throws Exception {
    try (LocalStore store = LocalStore.open(folder)) {
      store.commit(
          List.of(),
          List.of(put("a", "1"), new Write.Put("here", ByteString.copyFromUtf8("x"), true)));
      assertThat(store.get("here")).isPresent();
    }
    try (LocalStore store = LocalStore.open(folder)) {
      assertThat(values(store)).containsOnlyKeys("a");
    }
  }

  /** A crash leaves any beginning of what was appended; nothing acknowledged is in the rest. */
  @Test
  void open_cutAnywhere_hasTheCommitsThatWereWholeAndNoPartOfAnother() throws Exception {
    Random random = new Random(7);
    Map<Long, Map<String, ByteString>> atLength = new LinkedHashMap<>();
    Map<String, ByteString> expected = new TreeMap<>();
    try (LocalStore store = LocalStore.open(folder)) {
      atLength.put(Files.size(folder.resolve(JOURNAL)), Map.of());
      for (int i = 0; i < 6; i++) {
        List<Write> writes = writes(random, false);
        store.commit(List.of(), writes);
        apply(expected, writes);
        atLength.put(Files.size(folder.resolve(JOURNAL)), new TreeMap<>(expected));
      }
    }
    byte[] whole = Files.readAllBytes(folder.resolve(JOURNAL));
    long first = atLength.keySet().iterator().next();
    for (int cut = (int) first; cut <= whole.length; cut++) {
      // Where the disk had made room already, there are zeros.
      byte[] begun = Arrays.copyOf(whole, cut);
      byte[] left = Arrays.copyOf(begun, cut + random.nextInt(2) * random.nextInt(40));
      Files.write(folder.resolve(JOURNAL), left);
      int at = cut;
      try (LocalStore store = LocalStore.open(folder)) {
        assertThat(values(store))
            .as("cut at %d", cut)
            .isEqualTo(
                atLength.entrySet().stream()
                    .filter(e -> e.getKey() <= at)
                    .reduce((a, b) -> b)
                    .orElseThrow()
                    .getValue());
        if (cut % 16 == 0) {
          store.commit(List.of(), List.of(put("after", "the crash")));
        }
      }
      if (cut % 16 == 0) {
        try (LocalStore store = LocalStore.open(folder)) {
          assertThat(store.get("after")).isPresent();
        }
      }
    }
  }

  @Test
  void open_damageBeforeTheEnd_isRefusedWithWhereAndWhatToDo() throws Exception {
    try (LocalStore store = LocalStore.open(folder)) {
      for (int i = 0; i < 5; i++) {
        store.commit(List.of(), List.of(put("key" + i, "value")));
      }
    }
    byte[] whole = Files.readAllBytes(folder.resolve(JOURNAL));
    int lastRecord = lastRecord(whole);
    for (int at = 0; at < lastRecord; at++) {
      byte[] damaged = whole.clone();
      damaged[at] ^= 0x10;
      Files.write(folder.resolve(JOURNAL), damaged);
      assertThatThrownBy(() -> LocalStore.open(folder))
          .as("byte %d", at)
          .isInstanceOf(StateException.class)
          .hasMessageMatching(
              "(?s).*(is damaged at byte \\d+.*backup|not a state of this version).*");
      assertThat(Files.readAllBytes(folder.resolve(JOURNAL))).isEqualTo(damaged);
    }
  }

  @Test
  void open_onlyAHeader_isDamagedAndNotAnEmptyPool() throws Exception {
    Files.write(folder.resolve(JOURNAL), Journal.HEADER);
    assertThatThrownBy(() -> LocalStore.open(folder)).hasMessageContaining("damaged");
  }

  @Test
  void open_secondServer_isRefused() throws Exception {
    try (LocalStore first = LocalStore.open(folder)) {
      assertThat(first.get("x")).isEmpty();
      assertThatThrownBy(() -> LocalStore.open(folder)).hasMessageContaining("another server");
    }
    LocalStore.open(folder).close();
  }

  @Test
  void commit_manyOfThem_journalIsWrittenAnewAndStaysSmall() throws Exception {
    ByteString value = ByteString.copyFrom(new byte[20_000]);
    try (LocalStore store = LocalStore.open(folder)) {
      for (int i = 0; i < 300; i++) {
        store.commit(List.of(), List.of(new Write.Put("key" + i % 3, value, false)));
      }
      assertThat(Files.size(folder.resolve(JOURNAL))).isLessThan(1_500_000);
    }
    try (LocalStore store = LocalStore.open(folder)) {
      assertThat(values(store)).containsOnlyKeys("key0", "key1", "key2");
      assertThat(revision(store)).isEqualTo(300);
    }
  }

  @Test
  void trouble_diskFails_isToldUntilItCanBeWrittenAgain() throws Exception {
    FailingDisk disk = new FailingDisk(new Random(1), false);
    Path place = folder.resolve("trouble");
    try (LocalStore store =
        LocalStore.over(new StateTable(), table -> Journal.open(place, table, disk::open))) {
      assertThat(store.trouble()).isEmpty();
      disk.failing = true;
      boolean refused = false;
      while (!refused) {
        try {
          store.commit(List.of(), writes(new Random(2), true));
        } catch (StateException e) {
          refused = true;
        }
      }
      while (store.trouble().isEmpty()) {
        // The disk fails now and then; each failure is told until a trial succeeds.
        try {
          store.commit(List.of(), writes(new Random(3), true));
        } catch (StateException e) {
          assertThat(e.getMessage()).contains("disk");
        }
      }
      disk.failing = false;
      assertThat(store.trouble()).isEmpty();
    }
  }

  /** The disk fails at any step, having taken any part of what it was given. */
  @Test
  void commit_diskFails_isRefusedAndWhatWasAcknowledgedStays() throws Exception {
    for (int seed = 0; seed < 20; seed++) {
      Random random = new Random(seed);
      Path place = folder.resolve("f" + seed);
      FailingDisk disk = new FailingDisk(random, seed % 4 == 0);
      Map<String, ByteString> expected = new TreeMap<>();
      int refused = 0;
      LocalStore store =
          LocalStore.over(new StateTable(), table -> Journal.open(place, table, disk::open));
      disk.failing = true;
      for (int i = 0; i < 40; i++) {
        List<Write> writes = writes(random, true);
        try {
          store.commit(List.of(), writes);
          apply(expected, writes);
        } catch (StateException e) {
          assertThat(e.getMessage()).containsAnyOf("is the disk full?", "restart the server");
          refused++;
        }
        assertThat(values(store)).isEqualTo(expected);
      }
      assertThat(refused).isPositive();
      store.close();
      try (LocalStore reopened = LocalStore.open(place)) {
        // What failed may have reached the disk whole when it could not be taken back either.
        if (!disk.couldNotUndo) {
          assertThat(values(reopened)).as("seed %d", seed).isEqualTo(expected);
        }
      }
    }
  }

  private static final class FailingDisk {
    private final Random random;
    private final boolean dying;
    private boolean failing;
    private boolean couldNotUndo;

    FailingDisk(Random random, boolean dying) {
      this.random = random;
      this.dying = dying;
    }

    JournalFile open(Path path) throws IOException {
      if (failing && random.nextBoolean()) {
        throw new IOException("No space left on device");
      }
      JournalFile file = JournalFile.of(path);
      return new JournalFile() {
        @Override
        public byte[] readAll() throws IOException {
          return file.readAll();
        }

        @Override
        public void append(byte[] bytes) throws IOException {
          if (fails(6)) {
            file.append(Arrays.copyOf(bytes, random.nextInt(bytes.length + 1)));
            throw new IOException("No space left on device");
          }
          file.append(bytes);
        }

        @Override
        public void force() throws IOException {
          if (fails(12)) {
            throw new IOException("Input/output error");
          }
          file.force();
        }

        @Override
        public void truncate(long length) throws IOException {
          if (dying && fails(4)) {
            couldNotUndo = true;
            throw new IOException("Input/output error");
          }
          file.truncate(length);
        }

        @Override
        public void close() throws IOException {
          file.close();
        }
      };
    }

    private boolean fails(int oneIn) {
      return failing && random.nextInt(oneIn) == 0;
    }
  }

  private static int lastRecord(byte[] whole) {
    int at = Journal.HEADER.length;
    int last = at;
    while (at < whole.length) {
      last = at;
      at = JournalRecord.decode(whole, at).orElseThrow().end();
    }
    return last;
  }

  private static List<Write> writes(Random random, boolean large) {
    Map<String, Write> writes = new TreeMap<>();
    for (int i = 0; i < 1 + random.nextInt(4); i++) {
      String key = "k/" + random.nextInt(12);
      byte[] value = new byte[random.nextInt(large ? 60_000 : 40)];
      random.nextBytes(value);
      writes.put(
          key,
          random.nextInt(4) == 0
              ? new Write.Delete(key)
              : new Write.Put(key, ByteString.copyFrom(value), false));
    }
    return List.copyOf(writes.values());
  }

  private static void apply(Map<String, ByteString> map, List<Write> writes) {
    for (Write write : writes) {
      switch (write) {
        case Write.Put put -> map.put(put.key(), put.value());
        case Write.Delete delete -> map.remove(delete.key());
      }
    }
  }

  private static Map<String, ByteString> values(StateStore store) {
    Map<String, ByteString> values = new TreeMap<>();
    store.read("").entries().forEach(entry -> values.put(entry.key(), entry.value()));
    return values;
  }

  private static long revision(StateStore store) {
    return store.read("").revision();
  }

  private static Write put(String key, String value) {
    return new Write.Put(key, ByteString.copyFromUtf8(value), false);
  }
}
