// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.image;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.gpupool.server.placement.LeaseId;
import io.gpupool.transport.SocketPair;
import io.netty.channel.epoll.Epoll;
import io.netty.channel.unix.FileDescriptor;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Arrays;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class SessionImagesTest {
  private static final ImageName NAME = new ImageName(new LeaseId("L12"), "0a1b", "c0ffee");
  private static final byte[] HEAD = "session_key=hidden\n".getBytes(StandardCharsets.UTF_8);

  @TempDir Path folder;

  @BeforeAll
  static void loadNativeLibrary() {
    Epoll.ensureAvailability();
  }

  private SessionImages images(int seed) throws IOException {
    byte[] key = new byte[32];
    new Random(seed).nextBytes(key);
    return new SessionImages(folder.resolve("images"), key);
  }

  private static byte[] noise(int bytes) {
    byte[] noise = new byte[bytes];
    new Random(bytes).nextBytes(noise);
    return noise;
  }

  private static long save(SessionImages images, byte[] content) throws IOException {
    SocketPair pair = SocketPair.open();
    CompletableFuture<Void> sending =
        CompletableFuture.runAsync(() -> {
          try {
            new BlockingSocket(pair.first()).transferFrom(stream(content));
            pair.first().close();
          } catch (IOException e) {
            throw new CompletionException(e);
          }
        });
    try {
      return images.save(NAME, HEAD, pair.second());
    } finally {
      sending.join();
      pair.second().close();
    }
  }

  private static InputStream stream(byte[] content) {
    return new ByteArrayInputStream(content);
  }

  private static byte[] restored(SessionImages images) throws IOException {
    SocketPair pair = SocketPair.open();
    CompletableFuture<byte[]> receiving =
        CompletableFuture.supplyAsync(() -> received(pair.second()));
    try {
      images.send(NAME, pair.first());
    } finally {
      pair.first().close();
    }
    return receiving.join();
  }

  private static byte[] received(FileDescriptor from) {
    try {
      ByteArrayOutputStream bytes = new ByteArrayOutputStream();
      new BlockingSocket(from).transferTo(bytes);
      from.close();
      return bytes.toByteArray();
    } catch (IOException e) {
      throw new CompletionException(e);
    }
  }

  private Path file() {
    return folder.resolve("images").resolve("L12-0a1b-c0ffee.session");
  }

  @Test
  void image_isRestoredAsItWasSaved() throws Exception {
    SessionImages images = images(1);
    for (int bytes : new int[] {0, 1, (1 << 20) - 7, 1 << 20, 5_000_001}) {
      byte[] content = noise(bytes);
      assertThat(save(images, content)).isEqualTo(Files.size(file()));
      assertThat(restored(images)).isEqualTo(content);
      assertThat(images.head(NAME)).isEqualTo(HEAD);
    }
    assertThat(images.list()).containsExactly(NAME);
    images.delete(NAME);
    assertThat(images.list()).isEmpty();
  }

  @Test
  void image_ofEqualBytes_isSmall() throws Exception {
    assertThat(save(images(1), new byte[8 << 20])).isLessThan(1 << 18);
  }

  @Test
  void image_showsNothing_toWhoReadsTheFile() throws Exception {
    byte[] content = new byte[1 << 16];
    Arrays.fill(content, (byte) 'x');
    save(images(1), content);
    String file = Files.readString(file(), StandardCharsets.ISO_8859_1);
    assertThat(file).doesNotContain("hidden").doesNotContain("xxxx");
    assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(file())))
        .isEqualTo("rw-------");
    assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(file().getParent())))
        .isEqualTo("rwx------");
  }

  @Test
  void image_thatWasAltered_isNotRestored() throws Exception {
    SessionImages images = images(1);
    save(images, noise(3 << 20));
    byte[] file = Files.readAllBytes(file());
    for (int at : new int[] {0, 10, 60, 1 << 20, file.length - 1}) {
      byte[] altered = file.clone();
      altered[at] ^= 1;
      Files.write(file(), altered);
      assertThatThrownBy(() -> restored(images)).as("byte " + at).isInstanceOf(IOException.class);
    }
    for (int length : new int[] {0, 30, 1 << 20, 2 << 20, file.length - 1}) {
      Files.write(file(), Arrays.copyOf(file, length));
      assertThatThrownBy(() -> restored(images))
          .as("cut to " + length)
          .isInstanceOf(IOException.class);
    }
  }

  @Test
  void image_underAnotherName_orOfAnotherPool_isNotRestored() throws Exception {
    SessionImages images = images(1);
    save(images, noise(1000));
    ImageName other = new ImageName(NAME.lease(), "0a1c", NAME.session());
    Files.copy(file(), file().resolveSibling("L12-0a1c-c0ffee.session"));
    assertThatThrownBy(() -> images.head(other)).isInstanceOf(IOException.class);
    assertThatThrownBy(() -> images(2).head(NAME)).isInstanceOf(IOException.class);
    assertThat(images.head(NAME)).isEqualTo(HEAD);
  }

  @Test
  void folder_withOtherFiles_listsImagesOnly() throws Exception {
    SessionImages images = images(1);
    save(images, noise(10));
    Files.writeString(file().resolveSibling("notes.txt"), "");
    Files.writeString(file().resolveSibling("L12-..-x.session"), "");
    assertThat(images.list()).containsExactly(NAME);
  }
}
