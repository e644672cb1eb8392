// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.ptx;

/** A declared PTX register; its identity matters, since nested scopes may repeat a name. */
public final class Register {
  private final String name;
  private final Type type;

  public Register(String name, Type type) {
    this.name = name;
    this.type = type;
  }

  public String name() {
    return name;
  }

  public Type type() {
    return type;
  }

  @Override
  public String toString() {
    return name;
  }
}
