// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.compile.ir;

import io.gpupool.soft.ptx.Type;

/**
 * A register of one inlined instance of a function. Kind, local and frame offset are filled in by
 * the passes that decide them.
 */
public final class VReg implements Value {
  private final int id;
  private final String name;
  private final Type type;
  private JvmKind kind;
  private int local = -1;
  private int frameOffset = -1;
  private boolean inFrame;

  VReg(int id, String name, Type type) {
    this.id = id;
    this.name = name;
    this.type = type;
    kind = JvmKind.of(type);
  }

  /** Index among the registers of its graph. */
  public int id() {
    return id;
  }

  public Type type() {
    return type;
  }

  public JvmKind kind() {
    return kind;
  }

  public void kind(JvmKind chosen) {
    kind = chosen;
  }

  /** JVM local variable. */
  public int local() {
    return local;
  }

  public void local(int slot) {
    local = slot;
  }

  /** Whether the value is always in the thread's frame, and in no local. */
  public boolean inFrame() {
    return inFrame;
  }

  public void keepInFrame() {
    inFrame = true;
  }

  /** Byte offset in the thread's frame, at least while the thread is suspended. */
  public int frameOffset() {
    return frameOffset;
  }

  public void frameOffset(int offset) {
    frameOffset = offset;
  }

  @Override
  public String toString() {
    return name;
  }
}
