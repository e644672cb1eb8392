// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.seal;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.worker.os.Memory;
import io.gpupool.worker.os.Posix;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HexFormat;
import java.util.List;
import java.util.Random;
import javax.crypto.Cipher;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Sealed records, over a pair of sockets and against golden ones, which the shim's test reads. */
@Timeout(300)
class RecordsTest {
  private static final Path GOLDEN =
      Path.of("../../protocol/contract/src/test/golden/seal-records.txt");
  private static final int FLIPS = 5_000;
  private static final int ROOM_BYTES = 1 << 20;

  private final int[] pair = Posix.socketPair();
  private final long memory = Posix.map(2 * ROOM_BYTES);
  private final long to = memory + ROOM_BYTES;

  @AfterEach
  void close() {
    Posix.close(pair[0]);
    Posix.close(pair[1]);
    Posix.unmap(memory, 2 * ROOM_BYTES);
  }

  @ParameterizedTest
  @EnumSource
  void records_ofTwoKeys_areTheGoldenOnes(RecordKeys.End end) throws IOException {
    String who = end == RecordKeys.End.PROGRAM ? "program" : "worker";
    List<String> golden =
        Files.readAllLines(GOLDEN).stream().filter(line -> line.startsWith(who)).toList();
    RecordSealer sealer = new RecordSealer(keys(end, Cipher.ENCRYPT_MODE, 2));
    RecordOpener opener = new RecordOpener(keys(end, Cipher.DECRYPT_MODE, 2));
    for (int i = 0; i < golden.size(); i++) {
      String text = who + " record " + i % 2 + " of key " + i / 2;
      byte[] bytes = text.getBytes(StandardCharsets.US_ASCII);
      Memory.put(memory, bytes, bytes.length);
      String record =
          HexFormat.of().formatHex(Memory.bytes(to, sealer.seal(memory, bytes.length, to)));
      assertThat(who + "-" + i / 2 + "-record-" + i % 2 + " " + record).isEqualTo(golden.get(i));
      send(HexFormat.of().parseHex(record));
      assertThat(opener.receive(pair[1], to, ROOM_BYTES, 0)).isEqualTo(bytes.length);
      assertThat(Memory.bytes(to, bytes.length)).isEqualTo(bytes);
    }
    assertThat(golden).hasSize(4);
  }

  @Test
  void bytes_sentInPartsOfAnyLength_arriveAsTheyWere() throws InterruptedException {
    RecordSealer sealer = sealer();
    RecordOpener opener = opener();
    byte[] all = new byte[700_001];
    new Random(1).nextBytes(all);
    Memory.put(memory, all, all.length);
    Thread sending =
        Thread.ofPlatform()
            .start(() -> {
              int at = 0;
              for (int length = 1; at < all.length; length = length * 3 % 250_007) {
                int bytes = Math.min(length, all.length - at);
                assertThat(sealer.sendAll(pair[0], memory + at, bytes, false)).isZero();
                at += bytes;
              }
              Posix.shutdown(pair[0]);
            });
    int received = 0;
    for (long count; (count = opener.receive(pair[1], to + received, ROOM_BYTES, 0)) > 0; ) {
      received += (int) count;
    }
    sending.join();
    assertThat(Memory.bytes(to, received)).isEqualTo(all);
  }

  @Test
  void receive_partOfARecord_isNothingYet() {
    byte[] record = record(1000);
    RecordOpener opener = opener();
    for (byte one : record) {
      assertThat(opener.receive(pair[1], to, ROOM_BYTES, Posix.MSG_DONTWAIT))
          .isEqualTo(-Posix.EAGAIN);
      send(new byte[] {one});
    }
    assertThat(opener.receive(pair[1], to, ROOM_BYTES, Posix.MSG_DONTWAIT)).isEqualTo(1000);
  }

  @Test
  void receive_recordAgain_isAltered() {
    byte[] record = record(10);
    RecordOpener opener = opener();
    send(record);
    assertThat(opener.receive(pair[1], to, ROOM_BYTES, 0)).isEqualTo(10);
    send(record);
    assertThat(opener.receive(pair[1], to, ROOM_BYTES, 0)).isEqualTo(-Posix.EBADMSG);
    assertThat(opener.receive(pair[1], to, ROOM_BYTES, 0)).as("for good").isEqualTo(-Posix.EBADMSG);
  }

  @Test
  void receive_recordOfTheOtherDirection_isAltered() {
    send(record(10));
    RecordKeys own = keys(RecordKeys.End.WORKER, Cipher.DECRYPT_MODE, RecordKeys.RECORDS_PER_KEY);
    assertThat(new RecordOpener(own).receive(pair[1], to, ROOM_BYTES, 0)).isEqualTo(-Posix.EBADMSG);
  }

  @Test
  void receive_anyBitFlipped_isAltered() {
    int flips = 0;
    for (int contentBytes = 1; flips < FLIPS; contentBytes = contentBytes % 600 + 1) {
      byte[] record = record(contentBytes);
      for (int bit = 0; bit < 8 * record.length; bit++, flips++) {
        record[bit / 8] ^= (byte) (1 << bit % 8);
        send(record);
        // A length that has grown waits for more.
        Posix.sendAll(pair[0], memory, Records.MAX_BYTES, false);
        assertThat(opener().receive(pair[1], to, ROOM_BYTES, 0)).isEqualTo(-Posix.EBADMSG);
        record[bit / 8] ^= (byte) (1 << bit % 8);
        drain();
      }
    }
  }

  private void drain() {
    while (Posix.recv(pair[1], to, ROOM_BYTES, Posix.MSG_DONTWAIT) > 0) {
      // What comes after an altered record.
    }
  }

  private byte[] record(int contentBytes) {
    return Memory.bytes(to, sealer().seal(memory, contentBytes, to));
  }

  private void send(byte[] bytes) {
    Memory.put(to, bytes, bytes.length);
    assertThat(Posix.sendAll(pair[0], to, bytes.length, false)).isZero();
  }

  private static RecordSealer sealer() {
    return new RecordSealer(
        keys(RecordKeys.End.PROGRAM, Cipher.ENCRYPT_MODE, RecordKeys.RECORDS_PER_KEY));
  }

  private static RecordOpener opener() {
    return new RecordOpener(
        keys(RecordKeys.End.PROGRAM, Cipher.DECRYPT_MODE, RecordKeys.RECORDS_PER_KEY));
  }

  private static RecordKeys keys(RecordKeys.End end, int mode, long recordsPerKey) {
    byte[] secret = new byte[RecordKeys.SECRET_BYTES];
    for (int i = 0; i < secret.length; i++) {
      secret[i] = (byte) i;
    }
    return new RecordKeys(secret, end, mode, recordsPerKey);
  }
}
