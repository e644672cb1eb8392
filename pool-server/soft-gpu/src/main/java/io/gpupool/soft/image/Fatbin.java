// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.image;

import io.gpupool.soft.image.FatbinEntry.Compression;
import java.util.ArrayList;
import java.util.List;

/**
 * The container that nvcc puts code for several architectures into.
 *
 * <pre>
 * container                         entry (repeated until the container ends)
 *  0 u32 magic 0xBA55ED50            0 u16 kind    2 u16 version   4 u32 headerBytes
 *  4 u16 version                     8 u64 storedBytes, a multiple of 8
 *  6 u16 headerBytes                16 u32 packedBytes (without padding; 0 if not compressed)
 *  8 u64 bytes after the header     20 u32 offset of options      24 u16 minor  26 u16 major
 *                                   28 u32 architecture           32 u32 name offset, length
 *                                   40 u64 flags                  56 u64 plainBytes
 * </pre>
 */
record Fatbin(List<FatbinEntry> entries) {
  static final int MAGIC = 0xBA55ED50;

  static final int CONTAINER_HEADER_BYTES = 16;
  static final int ENTRY_HEADER_BYTES = 64;
  private static final int ENTRY_SIZE_OFFSET = 8;
  private static final int ENTRY_PACKED_OFFSET = 16;
  static final int ENTRY_ARCH_OFFSET = 28;
  private static final int ENTRY_FLAGS_OFFSET = 40;
  private static final int ENTRY_PLAIN_OFFSET = 56;
  private static final long FLAG_LZ4 = 0x2000;
  private static final long FLAG_ZSTD = 0x8000;
  private static final int MAX_ENTRIES = 4096;

  Fatbin {
    entries = List.copyOf(entries);
  }

  /** Reads the containers that lie one after the other: those of code that was compiled apart. */
  static List<Fatbin> parseAll(Bytes bytes) {
    List<Fatbin> containers = new ArrayList<>();
    long offset = 0;
    do {
      if (containers.size() == MAX_ENTRIES) {
        throw Bytes.invalid("more than " + MAX_ENTRIES + " fat binaries");
      }
      Bytes rest = bytes.slice(offset, bytes.length() - offset);
      containers.add(parse(rest));
      offset += lengthBytes(rest);
    } while (offset <= bytes.length() - CONTAINER_HEADER_BYTES && bytes.i32(offset) == MAGIC);
    return containers;
  }

  /** Length of the container at the start of some bytes, header included. */
  private static long lengthBytes(Bytes bytes) {
    return bytes.u16(6) + bytes.i64(8);
  }

  static Fatbin parse(Bytes bytes) {
    if (bytes.i32(0) != MAGIC) {
      throw Bytes.invalid("no fat binary magic number");
    }
    int headerBytes = bytes.u16(6);
    if (headerBytes < CONTAINER_HEADER_BYTES) {
      throw Bytes.invalid("a fat binary header of " + headerBytes + " bytes");
    }
    Bytes body = bytes.slice(headerBytes, bytes.i64(8));
    List<FatbinEntry> entries = new ArrayList<>();
    long offset = 0;
    while (offset <= body.length() - ENTRY_HEADER_BYTES) {
      if (entries.size() == MAX_ENTRIES) {
        throw Bytes.invalid("a fat binary of more than " + MAX_ENTRIES + " entries");
      }
      long entryHeaderBytes = body.u32(offset + 4);
      long storedBytes = body.i64(offset + ENTRY_SIZE_OFFSET);
      if (entryHeaderBytes < ENTRY_HEADER_BYTES || storedBytes < 0) {
        throw Bytes.invalid("a fat binary entry with a header of " + entryHeaderBytes + " bytes");
      }
      Bytes header = body.slice(offset, entryHeaderBytes);
      Bytes stored = body.slice(offset + entryHeaderBytes, storedBytes);
      entries.add(entry(header, stored));
      offset += entryHeaderBytes + storedBytes;
    }
    return new Fatbin(entries);
  }

  private static FatbinEntry entry(Bytes header, Bytes stored) {
    long flags = header.i64(ENTRY_FLAGS_OFFSET);
    Compression compression =
        (flags & FLAG_ZSTD) != 0
            ? Compression.ZSTD
            : (flags & FLAG_LZ4) != 0 ? Compression.LZ4 : Compression.NONE;
    Bytes exact = stored;
    long plainBytes = stored.length();
    if (compression != Compression.NONE) {
      exact = stored.slice(0, header.u32(ENTRY_PACKED_OFFSET));
      plainBytes = header.i64(ENTRY_PLAIN_OFFSET);
    }
    return new FatbinEntry(
        header.u16(0), header.i32(ENTRY_ARCH_OFFSET), compression, plainBytes, exact);
  }
}
