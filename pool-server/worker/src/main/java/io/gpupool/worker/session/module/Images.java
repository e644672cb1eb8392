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
import org.jspecify.annotations.Nullable;

/** Module images as they come in, in pages of their own. Used by the session's thread alone. */
public final class Images implements ImageOps {
  static final long MAX_IMAGE_BYTES = 2L << 30;
  private static final long MAX_TOTAL_BYTES = 4L << 30;
  private static final int MAX_IMAGES = 1 << 16;

  /** A text image ends with a zero byte, and parsers may look a little further. */
  private static final int SLACK_BYTES = 64;

  private static final int DIGEST_BYTES = 32;

  /** A module's image stays in memory up to this length even if the store has it. */
  private static final long MAX_HELD_BYTES = 256 << 10;

  private final CurrentCall call;
  private final Ledger ledger;
  private final Map<Integer, Image> images = new HashMap<>();

  /** Digests of images that were asked for and are about to come. */
  private final Map<Integer, byte[]> expected = new HashMap<>();

  private final ImageCache cache;
  private long totalBytes;

  /** In place of the image of any number, while modules are made again. */
  private @Nullable Image substitute;

  /** An image, in memory while something holds it. */
  public static final class Image {
    final long address;
    final long lengthBytes;
    long receivedBytes;
    byte @Nullable [] digest;
    int holders = 1;

    Image(long address, long lengthBytes) {
      this.address = address;
      this.lengthBytes = lengthBytes;
    }

    /** The address of its first byte. */
    public long address() {
      return address;
    }

    public long lengthBytes() {
      return lengthBytes;
    }

    /** The bytes of it that have come. */
    public long receivedBytes() {
      return receivedBytes;
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
      image.digest = digest;
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
    Image image = make(lengthBytes);
    if (image == null) {
      return CudaResult.OUT_OF_MEMORY;
    }
    images.put(number, image);
    return CudaResult.SUCCESS;
  }

  private @Nullable Image make(long lengthBytes) {
    if (!ledger.reserveHost(lengthBytes)) {
      return null;
    }
    long address = Posix.map(lengthBytes + SLACK_BYTES);
    if (address == 0) {
      ledger.releaseHost(lengthBytes);
      return null;
    }
    totalBytes += lengthBytes;
    return new Image(address, lengthBytes);
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
      byte[] digest = expected.remove(number);
      if (digest != null && cache.keep(digest, image.address, image.lengthBytes)) {
        image.digest = digest;
      }
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
    release(image);
    return CudaResult.SUCCESS;
  }

  /** Returns a complete image; null if there is none of the number. */
  @Nullable Image complete(int number) {
    Image image = substitute != null ? substitute : images.get(number);
    return image == null || image.receivedBytes != image.lengthBytes ? null : image;
  }

  /** Returns the address of a complete image; 0 if there is none. */
  long address(int number) {
    Image image = complete(number);
    return image == null ? 0 : image.address;
  }

  /** The length of a complete image. */
  long lengthBytes(int number) {
    return Objects.requireNonNull(complete(number)).lengthBytes;
  }

  /**
   * Sees to it that an image can be had for as long as a module lives: a long one from the store,
   * any other from memory.
   */
  ModuleImage hold(Image image) {
    boolean stored =
        image.digest != null
            && cache.store() != ImageStore.NONE
            && image.lengthBytes > MAX_HELD_BYTES;
    if (stored) {
      return new ModuleImage(image.lengthBytes, null, image.digest);
    }
    return new ModuleImage(image.lengthBytes, share(image), null);
  }

  /** The module has ended. */
  void release(ModuleImage image) {
    if (image.held() != null) {
      release(image.held());
    }
  }

  /**
   * Returns a module's image, which is the caller's to let go.
   *
   * @return null if the store does not have it any more, or there is no memory
   */
  public @Nullable Image take(ModuleImage wanted) {
    Image held = wanted.held();
    if (held != null) {
      return share(held);
    }
    Image image = make(wanted.lengthBytes());
    byte[] digest = Objects.requireNonNull(wanted.digest());
    if (image != null && !cache.read(digest, image.address, image.lengthBytes)) {
      release(image);
      return null;
    }
    return image;
  }

  /** Returns an image that is the caller's to let go. */
  public Image share(Image image) {
    image.holders++;
    return image;
  }

  /** Makes an image of a session that is made again, for the caller to fill and to let go. */
  public @Nullable Image receive(long lengthBytes) {
    Image image = lengthBytes <= 0 || lengthBytes > MAX_IMAGE_BYTES ? null : make(lengthBytes);
    if (image != null) {
      image.receivedBytes = lengthBytes;
    }
    return image;
  }

  /** Has an image stand in for that of any number; null: no longer. */
  public void substitute(@Nullable Image image) {
    substitute = image;
  }

  /** The images that the client has sent, or is sending, by number. */
  public Map<Integer, Image> sent() {
    return images;
  }

  /** Puts an image back that the client has sent a part of. */
  public void putBack(int number, Image image, long receivedBytes) {
    image.receivedBytes = receivedBytes;
    images.put(number, share(image));
  }

  public void release() {
    images.values().forEach(this::release);
    images.clear();
  }

  /** Gives an image's memory back if nobody else holds it. */
  public void release(Image image) {
    image.holders--;
    if (image.holders > 0) {
      return;
    }
    Posix.unmap(image.address, image.lengthBytes + SLACK_BYTES);
    ledger.releaseHost(image.lengthBytes);
    totalBytes -= image.lengthBytes;
  }
}
