// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.image;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;

/** The images that nvcc made of {@code sample.cu}. */
public final class SampleImages {
  private SampleImages() {}

  public static byte[] bytes(String file) {
    try (InputStream in = SampleImages.class.getResourceAsStream(file)) {
      return in.readAllBytes();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  public static MemorySegment image(String file) {
    return MemorySegment.ofArray(bytes(file));
  }
}
