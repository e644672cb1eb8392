// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.deviceplugin;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.PosixFilePermissions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class FileIdentityTest {
  @TempDir Path folder;

  @Test
  void identity_noFile_isNone() {
    assertThat(FileIdentity.of(folder.resolve("s"))).isEmpty();
  }

  @Test
  void identity_socketIsMovedChangedAndConnectedTo_isTheSame() throws IOException {
    Path path = folder.resolve("s");
    try (ServerSocketChannel server = ServerSocketChannel.open(StandardProtocolFamily.UNIX)) {
      server.bind(UnixDomainSocketAddress.of(path));
      FileIdentity before = FileIdentity.of(path).orElseThrow();
      Path moved = Files.move(path, folder.resolve("t"));
      Files.setPosixFilePermissions(moved, PosixFilePermissions.fromString("rwxrwxrwx"));
      SocketChannel.open(UnixDomainSocketAddress.of(moved)).close();
      assertThat(FileIdentity.of(moved)).hasValue(before);
    }
  }

  @Test
  void identity_anotherFileOfTheSameTime_isAnother() throws IOException {
    Path path = Files.createFile(folder.resolve("s"));
    FileIdentity before = FileIdentity.of(path).orElseThrow();
    Path next = Files.createFile(folder.resolve("t"));
    Files.setLastModifiedTime(next, before.made());
    assertThat(FileIdentity.of(next).orElseThrow()).isNotEqualTo(before);
  }

  @Test
  void identity_sameInodeMadeLater_isAnother() throws IOException {
    Path path = Files.createFile(folder.resolve("s"));
    FileIdentity before = FileIdentity.of(path).orElseThrow();
    Files.setLastModifiedTime(path, FileTime.fromMillis(before.made().toMillis() + 5));
    assertThat(FileIdentity.of(path).orElseThrow()).isNotEqualTo(before);
  }
}
