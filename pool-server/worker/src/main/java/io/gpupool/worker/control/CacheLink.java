// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.control;

import io.gpupool.soft.compile.cache.KernelStore;
import io.gpupool.wire.TextMessage;
import io.gpupool.worker.os.Memory;
import io.gpupool.worker.os.Posix;
import io.gpupool.worker.session.module.ImageStore;
import java.lang.foreign.Arena;
import java.util.HexFormat;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * A connection to the cache that the pool-server keeps for later sessions of the tenant: compiled
 * kernels, and images. A worker opens no file of them; it gets descriptors, of its own tenant's
 * files alone. Any thread may ask; the control thread brings the answers.
 */
public final class CacheLink {
  private static final long PATIENCE_SECONDS = 5;
  private static final long MAX_KERNEL_BYTES = 64L << 20;

  private final ControlLink control;
  private final AtomicLong requests = new AtomicLong();
  private final Map<String, CompletableFuture<Optional<Integer>>> waiting =
      new ConcurrentHashMap<>();

  public CacheLink(ControlLink control) {
    this.control = control;
  }

  public KernelStore kernels() {
    return new Kernels();
  }

  public ImageStore images() {
    return new StoredImages();
  }

  /** Brings a message of type {@code cached}, by the control thread. */
  public void answered(TextMessage message, @Nullable Integer descriptor) {
    String request = message.get("request").orElse("");
    CompletableFuture<Optional<Integer>> asked = waiting.remove(request);
    control.settled(key(request));
    boolean taken = asked != null && asked.complete(Optional.ofNullable(descriptor));
    if (!taken && descriptor != null) {
      Posix.close(descriptor);
    }
  }

  private final class Kernels implements KernelStore {
    @Override
    public Optional<byte[]> read(byte[] key) {
      Optional<Integer> file = get("kernels", key);
      if (file.isEmpty()) {
        return Optional.empty();
      }
      int fd = file.get();
      try (Arena arena = Arena.ofConfined()) {
        long lengthBytes = Posix.length(fd);
        if (lengthBytes <= 0 || lengthBytes > MAX_KERNEL_BYTES) {
          return Optional.empty();
        }
        long address = arena.allocate(lengthBytes).address();
        return readAll(fd, address, lengthBytes)
            ? Optional.of(Memory.bytes(address, (int) lengthBytes))
            : Optional.empty();
      } finally {
        Posix.close(fd);
      }
    }

    @Override
    public void write(byte[] key, byte[] content) {
      put("kernels", key, content.length, address -> Memory.put(address, content, content.length));
    }
  }

  private final class StoredImages implements ImageStore {
    @Override
    public boolean read(byte[] digest, long address, long lengthBytes) {
      Optional<Integer> file = get("images", digest);
      if (file.isEmpty()) {
        return false;
      }
      int fd = file.get();
      try {
        return Posix.length(fd) == lengthBytes && readAll(fd, address, lengthBytes);
      } finally {
        Posix.close(fd);
      }
    }

    @Override
    public void write(byte[] digest, long address, long lengthBytes) {
      put("images", digest, lengthBytes, to -> Memory.copy(address, to, lengthBytes));
    }
  }

  private interface Filler {
    void fill(long address);
  }

  private Optional<Integer> get(String kind, byte[] key) {
    String request = Long.toString(requests.incrementAndGet());
    CompletableFuture<Optional<Integer>> answer = new CompletableFuture<>();
    waiting.put(request, answer);
    try {
      control.ask(key(request), message("get", kind, key, request).build(), null);
      return answer.get(PATIENCE_SECONDS, TimeUnit.SECONDS);
    } catch (ExecutionException e) {
      return Optional.empty();
    } catch (TimeoutException e) {
      if (!answer.complete(Optional.empty())) {
        return answer.join();
      }
      return Optional.empty();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return Optional.empty();
    } finally {
      waiting.remove(request);
      control.forget(key(request));
    }
  }

  /** Offers a file in memory, which stays open until the server has its own descriptor of it. */
  private void put(String kind, byte[] key, long lengthBytes, Filler content) {
    int fd = Posix.memoryFile("gpupool-cache", lengthBytes);
    if (fd < 0) {
      return;
    }
    long address = Posix.mapShared(fd, 0, lengthBytes);
    if (address == 0) {
      Posix.close(fd);
      return;
    }
    content.fill(address);
    Posix.unmap(address, lengthBytes);
    String request = Long.toString(requests.incrementAndGet());
    CompletableFuture<Optional<Integer>> answer = new CompletableFuture<>();
    waiting.put(request, answer);
    CompletableFuture<Void> ignored = answer.thenAccept(nothing -> Posix.close(fd));
    control.ask(
        key(request), message("put", kind, key, request).put("descriptor", fd).build(), null);
  }

  private static String key(String request) {
    return "cache " + request;
  }

  private static TextMessage.Builder message(String what, String kind, byte[] key, String request) {
    return TextMessage.ofType("cache")
        .put("what", what)
        .put("kind", kind)
        .put("key", HexFormat.of().formatHex(key))
        .put("request", request);
  }

  private static boolean readAll(int fd, long address, long lengthBytes) {
    long there = 0;
    while (there < lengthBytes) {
      long count = Posix.pread(fd, address + there, lengthBytes - there, there);
      if (count <= 0) {
        return false;
      }
      there += count;
    }
    return true;
  }
}
