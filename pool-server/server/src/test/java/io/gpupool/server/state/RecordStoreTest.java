// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.state;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.ByteString;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class RecordStoreTest {
  private static final RecordType<String> WAITING = kind("waiting/", ByteString::toStringUtf8);
  private static final RecordType<String> ALL = kind("", ByteString::toStringUtf8);

  private static RecordType<String> kind(String prefix, RecordType.Decoder<String> decoder) {
    return new RecordType<>(prefix, ByteString::copyFromUtf8, decoder);
  }

  private static void move(RecordStore records, RecordType<String> from, RecordType<String> to)
      throws StateException {
    records.update(transaction -> {
      transaction.delete(from, "1");
      transaction.put(to, "1", "it");
    });
  }

  @Test
  void recordThatIsReplaced_isThereUntilTheOtherIsDecoded() throws Exception {
    CountDownLatch decoding = new CountDownLatch(1);
    CountDownLatch goOn = new CountDownLatch(1);
    RecordType<String> granted =
        kind(
            "granted/",
            bytes -> {
              decoding.countDown();
              await(goOn);
              return bytes.toStringUtf8();
            });
    try (RecordStore records = new RecordStore(LocalStore.inMemory(), List.of(WAITING, granted))) {
      records.update(transaction -> transaction.put(WAITING, "1", "it"));
      CompletableFuture<Void> moved =
          CompletableFuture.runAsync(() -> unchecked(() -> move(records, WAITING, granted)));
      await(decoding);
      assertThat(records.get(WAITING, "1")).as("while the commit is taken in").isPresent();
      assertThat(records.count(granted)).isZero();
      goOn.countDown();
      moved.join();
      assertThat(records.get(WAITING, "1")).isEmpty();
      assertThat(records.count(granted)).isEqualTo(1);
    }
  }

  @Test
  void reader_neverSeesHalfOfACommit() throws Exception {
    RecordType<String> granted = kind("granted/", ByteString::toStringUtf8);
    try (RecordStore records = new RecordStore(LocalStore.inMemory(), List.of(WAITING, granted))) {
      records.update(transaction -> transaction.put(WAITING, "1", "it"));
      AtomicBoolean over = new AtomicBoolean();
      CompletableFuture<Void> writer =
          CompletableFuture.runAsync(() ->
              unchecked(() -> {
                for (int i = 0; i < 20_000; i++) {
                  move(records, WAITING, granted);
                  move(records, granted, WAITING);
                }
              }));
      var unused = writer.whenComplete((nothing, failure) -> over.set(true));
      while (!over.get()) {
        // In one look: between two it may have been moved there and back.
        assertThat(records.first(ALL, 2)).hasSize(1);
      }
      writer.join();
    }
  }

  private interface Action {
    void run() throws Exception;
  }

  private static void unchecked(Action action) {
    try {
      action.run();
    } catch (Exception e) {
      throw new IllegalStateException(e);
    }
  }

  private static void await(CountDownLatch latch) {
    unchecked(() -> assertThat(latch.await(30, TimeUnit.SECONDS)).isTrue());
  }
}
