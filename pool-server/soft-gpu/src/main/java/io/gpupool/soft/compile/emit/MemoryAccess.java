// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.compile.emit;

import io.gpupool.soft.exec.block.KernelCode;
import io.gpupool.soft.memory.MemoryMap;
import java.lang.classfile.ClassBuilder;
import java.lang.classfile.ClassFile;
import java.lang.classfile.CodeBuilder;
import java.lang.classfile.Label;
import java.lang.classfile.TypeKind;
import java.lang.constant.ClassDesc;
import java.lang.constant.ConstantDescs;
import java.lang.constant.MethodTypeDesc;
import org.jspecify.annotations.Nullable;

/**
 * A class, made once at run time, whose static methods read and write checked native addresses by
 * the JDK's internal Unsafe. Kernels have thousands of accesses; one through a memory segment makes
 * the JIT compiler create a hundred nodes where this makes a handful, and it gives up inlining
 * early. Needs {@code --add-exports java.base/jdk.internal.misc=ALL-UNNAMED}; without it kernels
 * use {@link io.gpupool.soft.exec.memory.NativeMemory} and {@link
 * io.gpupool.soft.exec.access.AddressTranslation}, and run slower.
 */
public final class MemoryAccess {
  private static final String NAME = "io.gpupool.soft.kernel.MemoryAccess";
  private static final ClassDesc SELF = ClassDesc.of(NAME);
  private static final String UNSAFE_PACKAGE = "jdk.internal.misc";
  private static final ClassDesc UNSAFE = ClassDesc.of(UNSAFE_PACKAGE, "Unsafe");
  private static final String FIELD = "UNSAFE";

  private static final @Nullable ClassLoader FAST = load();

  private MemoryAccess() {}

  /** Whether the internal Unsafe may be used. */
  public static boolean isFast() {
    return FAST != null;
  }

  /** Class with the get and put methods. */
  public static ClassDesc nativeMemory() {
    return isFast() ? SELF : Code.NATIVE_MEMORY;
  }

  /** Class with the checks of global and generic addresses. */
  static ClassDesc addressTranslation() {
    return isFast() ? SELF : Code.ADDRESS_TRANSLATION;
  }

  /** Parent for the class loaders of kernels. */
  public static ClassLoader loader() {
    return FAST == null ? KernelCode.class.getClassLoader() : FAST;
  }

  private static @Nullable ClassLoader load() {
    Loader loader = new Loader();
    return Object.class.getModule().isExported(UNSAFE_PACKAGE, loader.getUnnamedModule())
        ? loader
        : null;
  }

  private static final class Loader extends ClassLoader {
    Loader() {
      super(KernelCode.class.getClassLoader());
    }

    @Override
    protected Class<?> findClass(String name) throws ClassNotFoundException {
      if (!name.equals(NAME)) {
        throw new ClassNotFoundException(name);
      }
      byte[] bytes = ClassFile.of().build(SELF, MemoryAccess::write);
      return defineClass(name, bytes, 0, bytes.length);
    }
  }

  private static void write(ClassBuilder builder) {
    builder.withFlags(ClassFile.ACC_PUBLIC | ClassFile.ACC_FINAL);
    builder.withField(
        FIELD, UNSAFE, ClassFile.ACC_PRIVATE | ClassFile.ACC_STATIC | ClassFile.ACC_FINAL);
    builder.withMethodBody(
        ConstantDescs.CLASS_INIT_NAME,
        ConstantDescs.MTD_void,
        ClassFile.ACC_STATIC,
        cb ->
            cb.invokestatic(UNSAFE, "getUnsafe", MethodTypeDesc.of(UNSAFE))
                .putstatic(SELF, FIELD, UNSAFE)
                .return_());
    for (TypeKind kind :
        new TypeKind[] {
          TypeKind.BYTE,
          TypeKind.SHORT,
          TypeKind.INT,
          TypeKind.LONG,
          TypeKind.FLOAT,
          TypeKind.DOUBLE
        }) {
      access(builder, kind);
    }
    String block = Code.BLOCK.descriptorString();
    method(builder, "global", "(" + block + "JI)J", cb -> check(cb, false));
    method(builder, "generic", "(" + block + "IJI)J", cb -> check(cb, true));
  }

  private static void method(
      ClassBuilder builder,
      String name,
      String descriptor,
      java.util.function.Consumer<CodeBuilder> body) {
    builder.withMethodBody(
        name,
        MethodTypeDesc.ofDescriptor(descriptor),
        ClassFile.ACC_PUBLIC | ClassFile.ACC_STATIC,
        body);
  }

  /** {@code getX(address)} and {@code putX(address, value)}; narrow values are put from an int. */
  private static void access(ClassBuilder builder, TypeKind kind) {
    ClassDesc type = kind.upperBound();
    ClassDesc stack = kind.asLoadable().upperBound();
    String suffix =
        Character.toUpperCase(type.displayName().charAt(0)) + type.displayName().substring(1);
    builder.withMethodBody(
        "get" + suffix,
        MethodTypeDesc.of(type, ConstantDescs.CD_long),
        ClassFile.ACC_PUBLIC | ClassFile.ACC_STATIC,
        cb ->
            cb.getstatic(SELF, FIELD, UNSAFE)
                .lload(0)
                .invokevirtual(
                    UNSAFE, "get" + suffix, MethodTypeDesc.of(type, ConstantDescs.CD_long))
                .return_(kind.asLoadable()));
    builder.withMethodBody(
        "put" + suffix,
        MethodTypeDesc.of(ConstantDescs.CD_void, ConstantDescs.CD_long, stack),
        ClassFile.ACC_PUBLIC | ClassFile.ACC_STATIC,
        cb -> {
          cb.getstatic(SELF, FIELD, UNSAFE).lload(0).loadLocal(kind.asLoadable(), 2);
          if (kind == TypeKind.BYTE) {
            cb.i2b();
          } else if (kind == TypeKind.SHORT) {
            cb.i2s();
          }
          cb.invokevirtual(
                  UNSAFE,
                  "put" + suffix,
                  MethodTypeDesc.of(ConstantDescs.CD_void, ConstantDescs.CD_long, type))
              .return_();
        });
  }

  /**
   * The address itself if it lies in live global memory and is aligned; all else is left to {@link
   * io.gpupool.soft.exec.access.AddressTranslation}.
   */
  private static void check(CodeBuilder cb, boolean generic) {
    int address = generic ? 2 : 1;
    int bytes = address + 2;
    int offset = bytes + 1;
    Label slow = cb.newLabel();
    cb.lload(address).aload(0).getfield(Code.BLOCK, "memoryBase", ConstantDescs.CD_long).lsub();
    cb.lstore(offset);
    cb.lload(offset).aload(0).getfield(Code.BLOCK, "memoryBytes", ConstantDescs.CD_long);
    cb.invokestatic(Code.LONG, "compareUnsigned", MethodTypeDesc.ofDescriptor("(JJ)I"));
    cb.ifge(slow);
    cb.lload(address).l2i().iload(bytes).iconst_1().isub().iand().ifne(slow);
    cb.getstatic(SELF, FIELD, UNSAFE);
    cb.aload(0).getfield(Code.BLOCK, "granules", ConstantDescs.CD_long);
    cb.lload(offset).loadConstant(MemoryMap.GRANULE_SHIFT).lushr().ladd();
    cb.invokevirtual(UNSAFE, "getByte", MethodTypeDesc.ofDescriptor("(J)B"));
    cb.ifeq(slow);
    cb.lload(address).lreturn();
    cb.labelBinding(slow);
    cb.aload(0);
    if (generic) {
      cb.iload(1);
    }
    cb.lload(address).iload(bytes);
    String block = Code.BLOCK.descriptorString();
    cb.invokestatic(
        Code.ADDRESS_TRANSLATION,
        generic ? "generic" : "global",
        MethodTypeDesc.ofDescriptor("(" + block + (generic ? "I" : "") + "JI)J"));
    cb.lreturn();
  }
}
