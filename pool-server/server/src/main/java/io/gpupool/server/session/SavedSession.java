// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.session;

import io.gpupool.server.image.ImageName;
import io.gpupool.server.image.SessionImages;
import io.gpupool.wire.SessionId;
import io.gpupool.wire.SessionKey;
import io.gpupool.wire.TextMessage;
import io.gpupool.wire.WireException;
import java.io.IOException;
import java.util.Arrays;

/**
 * A session that is in an image, and in no worker.
 *
 * @param moving as another server would be told of it
 */
record SavedSession(ImageName name, MovingSession moving) {
  /** A session that is about to be saved. */
  static SavedSession of(MovingSession moving) {
    return new SavedSession(
        new ImageName(moving.lease(), moving.move(), moving.keys().id().toString()), moving);
  }

  /**
   * Reads the head of an image.
   *
   * @throws IOException if it cannot be read, or is that of another session
   */
  static SavedSession read(SessionImages images, ImageName name) throws IOException {
    try {
      SavedSession saved = of(MovingSession.of(TextMessage.parse(images.head(name))));
      if (!saved.name().equals(name)) {
        throw new IOException("it is the image of session " + saved.name().session());
      }
      return saved;
    } catch (WireException e) {
      throw new IOException(e.getMessage(), e);
    }
  }

  /** Returns the head of its image. */
  byte[] head() {
    byte[] message = moving.message().encode();
    return Arrays.copyOfRange(message, TextMessage.HEADER_BYTES, message.length);
  }

  SessionId id() {
    return moving.keys().id();
  }

  boolean hasKey(SessionKey key) {
    return moving.keys().key().matches(key);
  }
}
