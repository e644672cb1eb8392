// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.image;

import com.google.crypto.tink.subtle.AesGcmHkdfStreaming;
import io.gpupool.server.files.PrivateFile;
import io.netty.channel.unix.FileDescriptor;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.channels.Channels;
import java.nio.channels.FileChannel;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.GeneralSecurityException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import net.jpountz.lz4.LZ4Factory;
import net.jpountz.lz4.LZ4FrameInputStream;
import net.jpountz.lz4.LZ4FrameOutputStream;
import net.jpountz.lz4.LZ4FrameOutputStream.BLOCKSIZE;
import net.jpountz.lz4.LZ4FrameOutputStream.FLG;
import net.jpountz.xxhash.XXHashFactory;

/**
 * The images of suspended sessions in a folder: a head of the server's, and the bytes with which
 * the session's worker has written it down. They are compressed (LZ4) and encrypted (AES-GCM in
 * segments, by Tink) with a key of the pool. For any thread; reading and writing take their time.
 */
public final class SessionImages {
  /** Room that is left on the disk for others. */
  public static final long SPARE_BYTES = 256L << 20;

  private static final int KEY_BYTES = 32;
  private static final int SEGMENT_BYTES = 1 << 20;
  private static final int MAX_HEAD_BYTES = 1 << 16;

  /** In the pure Java form, as the native one would be unpacked and loaded from a public folder. */
  private static final LZ4Factory LZ4 = LZ4Factory.fastestJavaInstance();

  private static final XXHashFactory HASHES = XXHashFactory.fastestJavaInstance();

  private final Path folder;
  private final AesGcmHkdfStreaming cipher;

  /**
   * Opens a folder, which is made if it is not there.
   *
   * @param key 32 secret bytes
   * @throws IOException if there cannot be such a folder
   */
  public SessionImages(Path folder, byte[] key) throws IOException {
    this.folder = folder;
    Files.createDirectories(
        folder, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
    try {
      cipher = new AesGcmHkdfStreaming(key, "HmacSha256", KEY_BYTES, SEGMENT_BYTES, 0);
    } catch (GeneralSecurityException e) {
      throw new IOException("images of sessions cannot be encrypted here: " + e.getMessage(), e);
    }
  }

  /** Returns the room for images on the disk, in bytes. */
  public long freeBytes() throws IOException {
    return Math.max(0, Files.getFileStore(folder).getUsableSpace() - SPARE_BYTES);
  }

  /**
   * Writes an image, which outlives a loss of power.
   *
   * @param from a blocking socket, which is read to its end
   * @return the size of the file in bytes
   */
  public long save(ImageName name, byte[] head, FileDescriptor from) throws IOException {
    Path file = folder.resolve(name.file());
    try (DataOutputStream to =
        new DataOutputStream(
            compressing(sealing(Channels.newOutputStream(PrivateFile.create(file)), name)))) {
      to.writeInt(head.length);
      to.write(head);
      new BlockingSocket(from).transferTo(to);
    } catch (IOException | RuntimeException e) {
      Files.deleteIfExists(file);
      throw e;
    }
    sync(file);
    sync(folder);
    return Files.size(file);
  }

  private static void sync(Path path) throws IOException {
    try (FileChannel channel = FileChannel.open(path, StandardOpenOption.READ)) {
      channel.force(true);
    }
  }

  /** Returns the head of an image. */
  public byte[] head(ImageName name) throws IOException {
    try (DataInputStream from = open(name)) {
      return head(from);
    }
  }

  /**
   * Sends what a worker has written down.
   *
   * @param to a blocking socket
   */
  public void send(ImageName name, FileDescriptor to) throws IOException {
    try (DataInputStream from = open(name)) {
      head(from);
      new BlockingSocket(to).transferFrom(from);
    }
  }

  private static byte[] head(DataInputStream from) throws IOException {
    int bytes = from.readInt();
    if (bytes < 0 || bytes > MAX_HEAD_BYTES) {
      throw new IOException("an image with a head of " + bytes + " bytes");
    }
    byte[] head = new byte[bytes];
    from.readFully(head);
    return head;
  }

  private DataInputStream open(ImageName name) throws IOException {
    InputStream file = Files.newInputStream(folder.resolve(name.file()));
    try {
      return new DataInputStream(
          new LZ4FrameInputStream(
              cipher.newDecryptingStream(file, name.bytes()),
              LZ4.safeDecompressor(),
              HASHES.hash32()));
    } catch (IOException | GeneralSecurityException e) {
      file.close();
      throw new IOException("the image of the session cannot be read: " + e.getMessage(), e);
    }
  }

  private OutputStream sealing(OutputStream to, ImageName name) throws IOException {
    try {
      return cipher.newEncryptingStream(to, name.bytes());
    } catch (GeneralSecurityException e) {
      throw new IOException("the image of the session cannot be encrypted: " + e.getMessage(), e);
    }
  }

  private static OutputStream compressing(OutputStream to) throws IOException {
    return new LZ4FrameOutputStream(
        to,
        BLOCKSIZE.SIZE_1MB,
        -1L,
        LZ4.fastCompressor(),
        HASHES.hash32(),
        FLG.Bits.BLOCK_INDEPENDENCE);
  }

  /** Deletes an image, if it is there. */
  public void delete(ImageName name) throws IOException {
    Files.deleteIfExists(folder.resolve(name.file()));
  }

  /** Returns the images that are there, whole or not. */
  public List<ImageName> list() throws IOException {
    List<ImageName> names = new ArrayList<>();
    try (DirectoryStream<Path> files = Files.newDirectoryStream(folder)) {
      for (Path file : files) {
        Optional<ImageName> name = ImageName.of(file.getFileName().toString());
        name.ifPresent(names::add);
      }
    } catch (UncheckedIOException e) {
      throw e.getCause();
    }
    return names;
  }
}
