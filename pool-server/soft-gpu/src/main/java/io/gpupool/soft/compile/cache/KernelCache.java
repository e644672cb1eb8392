// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.compile.cache;

import io.gpupool.soft.compile.KernelBinary;
import io.gpupool.soft.compile.KernelCompiler;
import io.gpupool.soft.compile.emit.MemoryAccess;
import io.gpupool.soft.compile.ir.CompileException;
import io.gpupool.soft.exec.block.CompiledKernel;
import io.gpupool.soft.ptx.module.PtxModule;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * Compiled kernels of earlier runs and of other processes, found by a digest of all that they were
 * made from: the module's text, the addresses of its variables, the compiler. Whatever is wrong
 * with a store or an entry, kernels are compiled as if there were none. Any thread may call it.
 */
public final class KernelCache {
  /** Compiles each kernel anew. */
  public static final KernelCache NONE = new KernelCache(null);

  private final @Nullable KernelEntries entries;

  private KernelCache(@Nullable KernelEntries entries) {
    this.entries = entries;
  }

  /** The cache whose entries are in a store. */
  public static KernelCache on(KernelStore store) {
    return new KernelCache(new KernelEntries(store));
  }

  /**
   * Does ahead of time, with any kernel, what the first one that is in the cache would wait for.
   *
   * @throws CompileException if the kernel is none
   */
  public void rehearse(PtxModule module, String kernel) throws CompileException {
    if (entries != null) {
      byte[] key = key(module, kernel, Map.of());
      entries.rehearse(key, KernelCompiler.translate(module, kernel, Map.of()));
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
    if (entries == null) {
      return KernelCompiler.compile(module, kernel, globalAddresses);
    }
    byte[] key = key(module, kernel, globalAddresses);
    Optional<CompiledKernel> found = entries.read(key).flatMap(KernelCache::load);
    if (found.isPresent()) {
      return found.get();
    }
    KernelBinary made = KernelCompiler.translate(module, kernel, globalAddresses);
    CompiledKernel loaded = KernelCompiler.load(module, made);
    entries.write(key, made);
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
