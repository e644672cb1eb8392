// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session.module;

import io.gpupool.cuda.CudaResult;
import io.gpupool.cuda.ImageOps;
import io.gpupool.worker.os.Memory;
import io.gpupool.worker.os.Posix;
import io.gpupool.worker.session.call.CurrentCall;
import io.gpupool.worker.session.quota.Ledger;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;

/** Module images as they come in, in pages of their own. Used by the session's thread alone. */
public final class Images implements ImageOps {
  static final long MAX_IMAGE_BYTES = 2L << 30;
  private static final long MAX_TOTAL_BYTES = 4L << 30;
  private static final int MAX_IMAGES = 1 << 16;

  /** A text image ends with a zero byte, and parsers may look a little further. */
  private static final int SLACK_BYTES = 64;

  private static final int DIGEST_BYTES = 32;

  private final CurrentCall call;
  private final Ledger ledger;
  private final Map<Integer, Image> images = new HashMap<>();

  /** Digests of images that were asked for and are about to come. */
  private final Map<Integer, byte[]> expected = new HashMap<>();

  private final ImageCache cache;
  private long totalBytes;

  private static final class Image {
    final long address;
    final long lengthBytes;
    long receivedBytes;

    Image(long address, long lengthBytes) {
      this.address = address;
      this.lengthBytes = lengthBytes;
    }
  }

  public Images(CurrentCall call, Ledger ledger, ImageCache cache) {
    this.call = call;
    this.ledger = ledger;
    this.cache = cache;
  }

  @Override
  public void imageFind(
      int tag, int number, long digest, long digestBytes, long lengthBytes, boolean foundWanted) {
    int result =
        digestBytes == DIGEST_BYTES ? imageBegin(number, lengthBytes) : CudaResult.INVALID_VALUE;
    long out = call.out();
    if (result == CudaResult.SUCCESS) {
      Memory.putLong(out, find(number, Memory.bytes(digest, DIGEST_BYTES)) ? 1 : 0);
    }
    call.reply(tag, result, out, Long.BYTES);
  }

  /**
   * Returns whether an image that was begun is there from earlier; if not, it is as if never begun.
   */
  private boolean find(int number, byte[] digest) {
    Image image = Objects.requireNonNull(images.get(number));
    if (cache.read(digest, image.address, image.lengthBytes)) {
      image.receivedBytes = image.lengthBytes;
      return true;
    }
    imageDrop(number);
    if (expected.size() < MAX_IMAGES) {
      expected.put(number, digest);
    }
    return false;
  }

  @Override
  public int imageBegin(int number, long lengthBytes) {
    if (lengthBytes <= 0 || images.containsKey(number)) {
      return CudaResult.INVALID_VALUE;
    }
    boolean tooMuch = lengthBytes > MAX_IMAGE_BYTES || lengthBytes > MAX_TOTAL_BYTES - totalBytes;
    if (tooMuch || images.size() == MAX_IMAGES) {
      return CudaResult.OUT_OF_MEMORY;
    }
    if (!ledger.reserveHost(lengthBytes)) {
      return CudaResult.OUT_OF_MEMORY;
    }
    long address = Posix.map(lengthBytes + SLACK_BYTES);
    if (address == 0) {
      ledger.releaseHost(lengthBytes);
      return CudaResult.OUT_OF_MEMORY;
    }
    images.put(number, new Image(address, lengthBytes));
    totalBytes += lengthBytes;
    return CudaResult.SUCCESS;
  }

  @Override
  public int imageData(int number, long data, long lengthBytes) {
    Image image = images.get(number);
    if (image == null || lengthBytes > image.lengthBytes - image.receivedBytes) {
      return CudaResult.INVALID_VALUE;
    }
    Memory.copy(data, image.address + image.receivedBytes, lengthBytes);
    image.receivedBytes += lengthBytes;
    if (image.receivedBytes == image.lengthBytes) {
      Optional.ofNullable(expected.remove(number))
          .ifPresent(digest -> cache.keep(digest, image.address, image.lengthBytes));
    }
    return CudaResult.SUCCESS;
  }

  @Override
  public int imageDrop(int number) {
    expected.remove(number);
    Image image = images.remove(number);
    if (image == null) {
      return CudaResult.INVALID_VALUE;
    }
    unmap(image);
    return CudaResult.SUCCESS;
  }

  /** Returns the address of a complete image; 0 if there is none. */
  long address(int number) {
    Image image = images.get(number);
    return image == null || image.receivedBytes != image.lengthBytes ? 0 : image.address;
  }

  /** The length of a complete image. */
  long lengthBytes(int number) {
    return Objects.requireNonNull(images.get(number)).lengthBytes;
  }

  public void release() {
    images.values().forEach(this::unmap);
    images.clear();
  }

  private void unmap(Image image) {
    Posix.unmap(image.address, image.lengthBytes + SLACK_BYTES);
    ledger.releaseHost(image.lengthBytes);
    totalBytes -= image.lengthBytes;
  }
}
