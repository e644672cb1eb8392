// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.exec;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.soft.exec.memory.NativeMemory;
import java.io.IOException;
import java.lang.classfile.ClassFile;
import java.lang.classfile.ClassModel;
import java.lang.classfile.constantpool.ClassEntry;
import java.lang.classfile.constantpool.MemberRefEntry;
import java.lang.classfile.constantpool.PoolEntry;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Predicate;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/**
 * Few classes read or write native memory by its address. Each is listed with what bounds it: who
 * adds one has to say so here, and in the page on the safety of memory.
 */
class NativeAccessTest {
  /** Classes that use {@link NativeMemory}, and where their addresses come from. */
  private static final Map<String, String> NATIVE_MEMORY =
      Map.ofEntries(
          Map.entry("exec/memory/NativeMemory", "is it"),
          Map.entry("exec/access/AddressTranslation", "its own checks"),
          Map.entry("exec/access/AccessFaults", "the map of granules"),
          Map.entry("exec/memory/Atomics", "AddressCode, Textures, Reductions"),
          Map.entry("exec/memory/WideAtomics", "AddressCode"),
          Map.entry("exec/access/MemoryBarriers", "AddressCode"),
          Map.entry("exec/matrix/Matrices", "AddressCode for rows"),
          Map.entry("exec/access/Fragments", "AddressTranslation for each piece of a matrix"),
          Map.entry(
              "exec/call/RuntimeCalls",
              "AddressTranslation for each result and argument in memory"),
          Map.entry(
              "exec/access/TensorCopies",
              "AddressTranslation for the map, each row and each piece"),
          Map.entry("exec/access/Reductions", "AddressTranslation for each element"),
          Map.entry(
              "exec/access/ClusterMemory",
              "AddressTranslation for each piece of a copy, and the barriers"),
          Map.entry("exec/access/Textures", "the memory of the texels"),
          Map.entry("exec/block/ThreadBlock", "the block's own pages"),
          Map.entry("exec/call/Printf", "AddressTranslation for each byte and argument"),
          Map.entry("compile/emit/Code", "names it"));

  /** Classes that make segments of addresses. */
  private static final Map<String, String> SEGMENTS =
      Map.ofEntries(
          Map.entry("exec/memory/NativeMemory", "see above"),
          Map.entry("texture/Texels", "bounded by the texels' memory"),
          Map.entry("memory/Mapping", "the addresses that it has reserved"),
          Map.entry("memory/Pages", "the pages that it has mapped"),
          Map.entry("memory/HostBuffer", "the bytes that it has allocated"),
          Map.entry("memory/SharedMarks", "the marks of a file that it has mapped"),
          Map.entry(
              "device/context/PitchedRegion",
              "memory of the worker that holds what a copy brings or takes"));

  /** Classes that emit reads and writes of native memory into the code of kernels. */
  private static final Map<String, String> EMITTERS =
      Map.ofEntries(
          Map.entry("compile/emit/MemoryAccess", "is what they call"),
          Map.entry("compile/emit/AccessCode", "addresses of AddressCode"),
          Map.entry("compile/emit/Code", "registers in frames"),
          Map.entry("compile/method/FrameCode", "what functions are passed, within the frame"));

  @Test
  void nativeMemory_isUsedByTheClassesListedAlone() throws Exception {
    assertThat(users(entry -> isClass(entry, "io/gpupool/soft/exec/memory/NativeMemory")))
        .isEqualTo(new TreeSet<>(NATIVE_MEMORY.keySet()));
  }

  @Test
  void segments_ofAddresses_areMadeByTheClassesListedAlone() throws Exception {
    assertThat(users(entry -> isMember(entry, "java/lang/foreign/MemorySegment", "reinterpret")))
        .isEqualTo(new TreeSet<>(SEGMENTS.keySet()));
  }

  @Test
  void accessesInKernels_areEmittedByTheClassesListedAlone() throws Exception {
    String access = "io/gpupool/soft/compile/emit/MemoryAccess";
    Set<String> users =
        users(entry ->
            isMember(entry, access, "nativeMemory")
                || isMember(entry, "io/gpupool/soft/compile/emit/Code", "NATIVE_MEMORY"));
    users.add("compile/emit/MemoryAccess");
    assertThat(users).isEqualTo(new TreeSet<>(EMITTERS.keySet()));
  }

  private static boolean isClass(PoolEntry entry, String name) {
    return entry instanceof ClassEntry type && type.asInternalName().equals(name);
  }

  private static boolean isMember(PoolEntry entry, String owner, String name) {
    return entry instanceof MemberRefEntry member
        && member.owner().asInternalName().equals(owner)
        && member.name().equalsString(name);
  }

  /** The classes with such an entry in their constant pool, nested ones as the outermost. */
  private static Set<String> users(Predicate<PoolEntry> wanted) throws Exception {
    Path root =
        Path.of(NativeMemory.class.getProtectionDomain().getCodeSource().getLocation().toURI());
    Map<String, ClassModel> classes = new TreeMap<>();
    try (Stream<Path> files = Files.walk(root)) {
      for (Path file : files.filter(one -> one.toString().endsWith(".class")).toList()) {
        classes.put(root.relativize(file).toString(), parse(file));
      }
    }
    assertThat(classes).hasSizeGreaterThan(100);
    Set<String> users = new TreeSet<>();
    classes.forEach((file, model) -> {
      for (PoolEntry entry : model.constantPool()) {
        if (wanted.test(entry)) {
          users.add(file.replaceAll("(\\$.*)?\\.class$", "").replace("io/gpupool/soft/", ""));
        }
      }
    });
    return users;
  }

  private static ClassModel parse(Path file) {
    try {
      return ClassFile.of().parse(file);
    } catch (IOException e) {
      throw new java.io.UncheckedIOException(e);
    }
  }
}
