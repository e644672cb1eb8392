// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.compile;

import io.gpupool.soft.cache.FileCache;
import io.gpupool.soft.exec.CompiledKernel;
import io.gpupool.soft.ptx.PtxModule;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/**
 * Compiled kernels of earlier runs and of other processes, found by a digest of all that they were
 * made from: the module's text, the addresses of its variables, the compiler. Whatever is wrong
 * with a folder or an entry, kernels are compiled as if there were none. Any thread may call it.
 */
public final class KernelCache {
  /** Compiles each kernel anew. */
  public static final KernelCache NONE = new KernelCache(Optional.empty());

  /** Names the folder, or is {@code off}. */
  public static final String VARIABLE = "GPUPOOL_KERNEL_CACHE";

  private static final long MAX_BYTES = 256L << 20;

  private final Optional<CacheFolder> folder;

  private KernelCache(Optional<CacheFolder> folder) {
    this.folder = folder;
  }

  /**
   * A cache in a folder, which is made when it is first written to.
   *
   * @param maxBytes of all entries together; those not used for longest go first
   */
  public static KernelCache in(Path folder, long maxBytes) {
    return new KernelCache(
        Optional.of(new CacheFolder(new FileCache(folder, maxBytes, CacheFolder.SUFFIX))));
  }

  /**
   * The cache that a process's environment asks for: in the folder that {@value #VARIABLE} names,
   * else in {@code gpupool/kernels} of the user's folder for caches.
   */
  public static KernelCache of(Map<String, String> environment) {
    return FileCache.of(environment, VARIABLE, "kernels", MAX_BYTES, CacheFolder.SUFFIX)
        .map(files -> new KernelCache(Optional.of(new CacheFolder(files))))
        .orElse(NONE);
  }

  /**
   * Does ahead of time, with any kernel, what the first one that is in the cache would wait for.
   *
   * @throws CompileException if the kernel is none
   */
  public void rehearse(PtxModule module, String kernel) throws CompileException {
    if (folder.isPresent()) {
      byte[] key = key(module, kernel, Map.of());
      folder.get().rehearse(key, KernelCompiler.translate(module, kernel, Map.of()));
    }
  }

  /**
   * Finds or compiles a kernel.
   *
   * @param globalAddresses as for {@link KernelCompiler#compile}
   * @throws CompileException if the kernel uses an instruction or feature that is not supported
   */
  public CompiledKernel compile(PtxModule module, String kernel, Map<String, Long> globalAddresses)
      throws CompileException {
    if (folder.isEmpty()) {
      return KernelCompiler.compile(module, kernel, globalAddresses);
    }
    byte[] key = key(module, kernel, globalAddresses);
    Optional<CompiledKernel> found = folder.get().read(key).flatMap(KernelCache::load);
    if (found.isPresent()) {
      return found.get();
    }
    KernelBinary made = KernelCompiler.translate(module, kernel, globalAddresses);
    CompiledKernel loaded = KernelCompiler.load(module, made);
    folder.get().write(key, made);
    return loaded;
  }

  private static Optional<CompiledKernel> load(KernelBinary binary) {
    try {
      return Optional.of(binary.load());
    } catch (LinkageError e) {
      return Optional.empty();
    }
  }

  static byte[] key(PtxModule module, String kernel, Map<String, Long> globalAddresses) {
    StringBuilder text = new StringBuilder(kernel).append('\n').append(MemoryAccess.isFast());
    new TreeMap<>(globalAddresses)
        .forEach((name, address) -> text.append('\n').append(name).append(' ').append(address));
    MessageDigest digest = PtxModule.sha256();
    digest.update(CompilerDigest.VALUE);
    digest.update(module.digest());
    return digest.digest(text.toString().getBytes(StandardCharsets.UTF_8));
  }
}
