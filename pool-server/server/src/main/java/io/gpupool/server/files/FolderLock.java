// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.files;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Optional;
import java.util.Set;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The lock of a folder that one server's process has at a time. The kernel ends it with that. */
public final class FolderLock {
  /** The name of its file. */
  public static final String FILE = "lock";

  private static final Logger LOG = LoggerFactory.getLogger(FolderLock.class);

  private FolderLock() {}

  /** Takes it, until the channel is closed; empty: another server has it. */
  public static Optional<FileChannel> take(Path folder) throws IOException {
    FileChannel channel =
        FileChannel.open(
            folder.resolve(FILE),
            Set.of(StandardOpenOption.CREATE, StandardOpenOption.WRITE, LinkOption.NOFOLLOW_LINKS),
            PrivateFile.OWNER_ONLY);
    try {
      FileLock taken = channel.tryLock();
      if (taken != null) {
        return Optional.of(channel);
      }
    } catch (OverlappingFileLockException e) {
      LOG.debug("another server of this process", e);
    } catch (IOException e) {
      channel.close();
      throw e;
    }
    channel.close();
    return Optional.empty();
  }
}
