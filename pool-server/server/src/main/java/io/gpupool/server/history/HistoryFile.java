// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.history;

import com.google.protobuf.InvalidProtocolBufferException;
import io.gpupool.control.state.v1.HistoryRecord;
import io.gpupool.server.files.PrivateFile;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.zip.CRC32C;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The file in which samples outlive their server. It is written anew each time and then replaces
 * the old one, so that a server that dies in between leaves the old one.
 *
 * <pre>
 *  0       4             8             12                16
 *  +-------+-------------+-------------+-----------------+------+
 *  | mark  | u32 version | u32 length  | u32 CRC-32C of  | body |
 *  | GPUH  | 1           | of the body | the body        |      |
 *  +-------+-------------+-------------+-----------------+------+
 *  body: HistoryRecord
 * </pre>
 *
 * All integers are big-endian. A malformed file is dropped: nobody's work depends on it.
 */
final class HistoryFile {
  static final String NAME = "gpu-history";
  private static final int MARK = 0x47505548;
  private static final int VERSION = 1;
  private static final int HEADER_BYTES = 16;
  private static final long MAX_BYTES = 1L << 28;
  private static final Logger LOG = LoggerFactory.getLogger(HistoryFile.class);

  private final Path path;
  private boolean failing;

  HistoryFile(Path folder) {
    path = folder.toAbsolutePath().resolve(NAME);
  }

  /** What was kept, by the UUID of its GPU; nothing if there is no such file, or it is damaged. */
  Map<String, GpuSamples> read() {
    try {
      if (Files.notExists(path)) {
        return Map.of();
      }
      if (Files.size(path) > MAX_BYTES) {
        throw new IOException("it has " + Files.size(path) + " bytes");
      }
      return HistoryCodec.samples(decode(Files.readAllBytes(path)));
    } catch (IOException | RuntimeException e) {
      LOG.warn("{} cannot be used ({}): the history of the GPUs begins anew", path, e.getMessage());
      return Map.of();
    }
  }

  /** Keeps this instead. One thread at a time. */
  void write(HistoryRecord record) {
    try {
      Files.createDirectories(path.getParent());
      PrivateFile.replace(
          path, path.resolveSibling(NAME + ".new"), encode(record), PrivateFile.Outlives.POWER);
      failing = false;
    } catch (IOException e) {
      if (!failing) {
        LOG.warn(
            "{} cannot be written ({}): the history of the GPUs is not kept over a restart; see to"
                + " the disk's space and the folder's owner",
            path,
            e.toString());
      }
      failing = true;
    }
  }

  static ByteBuffer encode(HistoryRecord record) {
    byte[] body = record.toByteArray();
    return ByteBuffer.allocate(HEADER_BYTES + body.length)
        .putInt(MARK)
        .putInt(VERSION)
        .putInt(body.length)
        .putInt(checksum(body))
        .put(body)
        .flip();
  }

  private static HistoryRecord decode(byte[] content) throws IOException {
    ByteBuffer file = ByteBuffer.wrap(content);
    if (content.length < HEADER_BYTES || file.getInt() != MARK) {
      throw new IOException("it is no history of GPUs");
    }
    int version = file.getInt();
    if (version != VERSION) {
      throw new IOException("it is of version " + version + ", this server writes " + VERSION);
    }
    int length = file.getInt();
    int checksum = file.getInt();
    byte[] body = new byte[file.remaining()];
    file.get(body);
    if (body.length != length || checksum(body) != checksum) {
      throw new IOException("it is damaged");
    }
    try {
      return HistoryRecord.parseFrom(body);
    } catch (InvalidProtocolBufferException e) {
      throw new IOException("it is damaged", e);
    }
  }

  private static int checksum(byte[] body) {
    CRC32C crc = new CRC32C();
    crc.update(body, 0, body.length);
    return (int) crc.getValue();
  }
}
