// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.session;

import io.gpupool.server.image.ImageName;
import io.gpupool.server.image.SessionImages;
import io.gpupool.server.stream.CallStream;
import io.gpupool.transport.Detaching;
import io.gpupool.transport.SocketPair;
import io.gpupool.wire.ServerHello;
import io.netty.channel.unix.FileDescriptor;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;

/** A stream on which a worker gets the session that is in an image. Used by the control thread. */
final class ImageStream implements CallStream {
  private static final int ANSWER_BYTES = 1024;

  private final SessionImages images;
  private final ImageName name;
  private final Consumer<String> onFailure;

  /**
   * Sends nothing yet.
   *
   * @param onFailure takes the reason why the image cannot be read, on any thread
   */
  ImageStream(SessionImages images, ImageName name, Consumer<String> onFailure) {
    this.images = images;
    this.name = name;
    this.onFailure = onFailure;
  }

  @Override
  public void refuse(ServerHello answer) {
    onFailure.accept(answer.text());
  }

  @Override
  public CompletableFuture<FileDescriptor> accept(ServerHello answer, boolean resumable) {
    try {
      SocketPair pair = SocketPair.open();
      Thread.ofPlatform().name("restore " + name.lease()).daemon().start(() -> send(pair.first()));
      return CompletableFuture.completedFuture(pair.second());
    } catch (IOException e) {
      return CompletableFuture.failedFuture(e);
    }
  }

  /** Runs in a thread of its own, until the worker has closed its end. */
  private void send(FileDescriptor to) {
    try {
      images.send(name, to);
      ByteBuffer answers = ByteBuffer.allocateDirect(ANSWER_BYTES);
      while (to.read(answers, 0, ANSWER_BYTES) >= 0) {
        // The worker says that it has the session, as it says to another worker.
      }
    } catch (IOException | RuntimeException e) {
      onFailure.accept("its image cannot be restored: " + e.getMessage());
    } finally {
      Detaching.closeQuietly(to);
    }
  }
}
