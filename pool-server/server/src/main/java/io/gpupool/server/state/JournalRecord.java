// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.state;

import com.google.protobuf.ByteString;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.zip.CRC32C;

/**
 * A record of a journal: a commit, or the whole content.
 *
 * <pre>
 *  0       4             8                        12
 *  +-------+-------------+------------------------+------+
 *  | mark  | u32 length  | u32 CRC-32C of length  | body |
 *  | GPUJ  | of the body | and body               |      |
 *  +-------+-------------+------------------------+------+
 *  body:   u64 revision, u8 kind, u32 count, then per key:
 *          u8 what (0 delete, 1 put, 2 put bound), u16 bytes, key,
 *          and for a put: u64 revision, u32 bytes, value
 * </pre>
 *
 * All integers are big-endian.
 */
sealed interface JournalRecord {
  int MARK = 0x4750554a;
  int HEADER_BYTES = 12;
  int MAX_BODY_BYTES = 1 << 28;

  long revision();

  record Changes(long revision, List<Write> writes) implements JournalRecord {}

  record Whole(long revision, List<Entry> entries) implements JournalRecord {}

  /** A record and where the next one begins. */
  record Decoded(JournalRecord record, int end) {}

  static byte[] encode(JournalRecord record) {
    return switch (record) {
      case Changes(long revision, List<Write> writes) -> {
        Body body = new Body(revision, 0, writes.size());
        for (Write write : writes) {
          switch (write) {
            case Write.Delete delete -> body.add(0, delete.key());
            case Write.Put put -> {
              body.add(put.bound() ? 2 : 1, put.key());
              body.add(revision, put.value());
            }
          }
        }
        yield body.framed();
      }
      case Whole(long revision, List<Entry> entries) -> {
        Body body = new Body(revision, 1, entries.size());
        for (Entry entry : entries) {
          body.add(entry.bound() ? 2 : 1, entry.key());
          body.add(entry.revision(), entry.value());
        }
        yield body.framed();
      }
    };
  }

  /** The record that begins here, if a whole and undamaged one does. */
  static Optional<Decoded> decode(byte[] bytes, int at) {
    ByteBuffer in = ByteBuffer.wrap(bytes, at, bytes.length - at);
    if (in.remaining() < HEADER_BYTES || in.getInt() != MARK) {
      return Optional.empty();
    }
    int length = in.getInt();
    int sum = in.getInt();
    if (length < 0 || length > in.remaining() || sum != checksum(bytes, in.position(), length)) {
      return Optional.empty();
    }
    int end = in.position() + length;
    long revision = in.getLong();
    boolean whole = in.get() == 1;
    int count = in.getInt();
    List<Write> writes = new ArrayList<>();
    List<Entry> entries = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      byte what = in.get();
      String key = StandardCharsets.UTF_8.decode(slice(in, in.getShort() & 0xffff)).toString();
      if (what == 0) {
        writes.add(new Write.Delete(key));
        continue;
      }
      long written = in.getLong();
      ByteString value = ByteString.copyFrom(slice(in, in.getInt()));
      writes.add(new Write.Put(key, value, what == 2));
      entries.add(new Entry(key, value, written, what == 2));
    }
    return Optional.of(
        new Decoded(whole ? new Whole(revision, entries) : new Changes(revision, writes), end));
  }

  private static ByteBuffer slice(ByteBuffer in, int length) {
    ByteBuffer part = in.slice(in.position(), length);
    in.position(in.position() + length);
    return part;
  }

  private static int checksum(byte[] bytes, int at, int length) {
    CRC32C sum = new CRC32C();
    sum.update(ByteBuffer.allocate(Integer.BYTES).putInt(0, length));
    sum.update(bytes, at, length);
    return (int) sum.getValue();
  }

  /** A body under construction. */
  final class Body {
    private final ByteString.Output bytes = ByteString.newOutput(256);
    private final ByteBuffer number = ByteBuffer.allocate(Long.BYTES);

    private Body(long revision, int kind, int count) {
      put(number.putLong(0, revision), Long.BYTES);
      bytes.write(kind);
      put(number.putInt(0, count), Integer.BYTES);
    }

    private void add(int what, String key) {
      byte[] text = key.getBytes(StandardCharsets.UTF_8);
      if (text.length > 0xffff) {
        throw new IllegalArgumentException("a key of " + text.length + " bytes");
      }
      bytes.write(what);
      put(number.putShort(0, (short) text.length), Short.BYTES);
      bytes.write(text, 0, text.length);
    }

    private void add(long revision, ByteString value) {
      put(number.putLong(0, revision), Long.BYTES);
      put(number.putInt(0, value.size()), Integer.BYTES);
      bytes.write(value.toByteArray(), 0, value.size());
    }

    private void put(ByteBuffer from, int length) {
      bytes.write(from.array(), 0, length);
    }

    private byte[] framed() {
      ByteString body = bytes.toByteString();
      if (body.size() > MAX_BODY_BYTES) {
        throw new IllegalArgumentException("a record of " + body.size() + " bytes");
      }
      byte[] framed = new byte[HEADER_BYTES + body.size()];
      body.copyTo(framed, HEADER_BYTES);
      ByteBuffer.wrap(framed)
          .putInt(MARK)
          .putInt(body.size())
          .putInt(checksum(framed, HEADER_BYTES, body.size()));
      return framed;
    }
  }
}
