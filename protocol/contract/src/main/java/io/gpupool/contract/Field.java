// SPDX-License-Identifier: Apache-2.0
package io.gpupool.contract;

import org.jspecify.annotations.Nullable;

/**
 * A field of an op.
 *
 * @param role its purpose
 * @param type its type
 * @param name its name
 * @param member the place in a group of fields that are taken as one value, null if it has none
 */
public record Field(Role role, Type type, String name, @Nullable Member member) {
  /** A field by itself. */
  public Field(Role role, Type type, String name) {
    this(role, type, name, null);
  }

  /**
   * The place of a field in a group.
   *
   * @param group the group's name
   * @param value the name of the value that the fields of one group make up
   * @param first whether it is the first field of that value
   */
  public record Member(String group, String value, boolean first) {}

  /** The purposes of fields. */
  public enum Role {
    /** Travels with the request. */
    IN,
    /** Travels with the reply. */
    OUT,
    /** The client's number for what the call makes. */
    MINT,
    /** The client's number for what the call destroys. */
    DROP
  }

  /** The types of fields. */
  public enum Type {
    U32,
    I32,
    U64,
    F32,

    /** Input bytes that mean nothing to the worker: data to copy, images, digests. */
    DATA,

    /** Input bytes of a name. */
    TEXT,

    /** Input bytes of a struct. The worker reads its fields, and never passes on its address. */
    STRUCT,

    /** Output bytes. */
    BYTES,
    STREAM,
    EVENT,
    MODULE,
    FUNCTION,
    POOL,
    ARRAY,
    MIPMAP;

    /** Returns whether values are the client's numbers for objects that the worker keeps. */
    public boolean isHandle() {
      return ordinal() > BYTES.ordinal();
    }

    /** Returns whether values are input bytes, which lie behind the slots of a request. */
    public boolean isInputBuffer() {
      return this == DATA || this == TEXT || this == STRUCT;
    }
  }
}
