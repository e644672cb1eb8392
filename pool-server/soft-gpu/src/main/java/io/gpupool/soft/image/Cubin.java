// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.image;

import io.gpupool.soft.ptx.ClusterDemand;
import io.gpupool.soft.ptx.GlobalVariable;
import io.gpupool.soft.ptx.KernelInfo;
import io.gpupool.soft.ptx.KernelResources;
import io.gpupool.soft.ptx.Linkage;
import io.gpupool.soft.ptx.ParamInfo;
import io.gpupool.soft.ptx.Space;
import io.gpupool.soft.ptx.VariableKind;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * The contents of an ELF image of machine code: its kernels, the layout of their parameters, and
 * its variables. The code cannot run here.
 *
 * <p>Sources: the ELF-64 format; {@code .nv.info} sections as nvdisasm and readelf show them: items
 * of {@code u8 format, u8 attribute, u16 value or length}, then the bytes when the format is 4.
 */
record Cubin(List<KernelInfo> kernels, List<GlobalVariable> globals, Set<ImageTrait> traits) {
  static final int MAGIC = 0x464c457f;

  private static final int MACHINE_CUDA = 190;
  private static final int SECTION_HEADER_BYTES = 64;
  private static final int SYMBOL_BYTES = 24;
  private static final int SECTION_SYMTAB = 2;
  private static final int SECTION_NOBITS = 8;
  private static final int SYMBOL_OBJECT = 1;
  private static final int SYMBOL_FUNCTION = 2;
  private static final int OTHER_KERNEL_ENTRY = 0x10;

  private static final int FORMAT_SIZED = 4;
  private static final int ATTRIBUTE_MAX_THREADS = 0x05;
  private static final int ATTRIBUTE_PARAM_CBANK = 0x0a;
  private static final int ATTRIBUTE_FRAME_SIZE = 0x11;
  private static final int ATTRIBUTE_KERNEL_PARAM = 0x17;
  private static final int ATTRIBUTE_REGISTER_COUNT = 0x2f;

  private static final int MAX_THREADS = 1024;

  Cubin {
    kernels = List.copyOf(kernels);
    globals = List.copyOf(globals);
    traits = Set.copyOf(traits);
  }

  /**
   * Reads an image.
   *
   * @param arch the number in {@code sm_NN} that it was built for
   */
  static Cubin parse(Bytes bytes, int arch) {
    return new Reader(bytes, arch).read();
  }

  /** A section header, as far as it matters here. */
  private record Section(String name, int type, int link, Bytes content, long sizeBytes) {}

  /** A symbol of the symbol table. */
  private record Symbol(String name, int type, int other, int section, long value, long sizeBytes) {
    boolean isKernel() {
      return type == SYMBOL_FUNCTION && (other & OTHER_KERNEL_ENTRY) != 0;
    }
  }

  private static final class Reader {
    private final Bytes bytes;
    private final int arch;

    @SuppressWarnings("NullAway.Init")
    private List<Section> sections;

    @SuppressWarnings("NullAway.Init")
    private List<Symbol> symbols;

    private long nameBudget;
    private final Map<String, Section> sectionByName = new HashMap<>();
    private final Map<Integer, Integer> registersBySymbol = new HashMap<>();
    private final Map<Integer, Integer> frameBytesBySymbol = new HashMap<>();

    Reader(Bytes bytes, int arch) {
      this.bytes = bytes;
      this.arch = arch;
      // Names of a sound file do not overlap, save for shared endings.
      nameBudget = 4 * bytes.length();
    }

    Cubin read() {
      if (bytes.i32(0) != MAGIC || bytes.u8(4) != 2 || bytes.u8(5) != 1) {
        throw Bytes.invalid("not a little-endian 64-bit ELF file");
      }
      if (bytes.u16(18) != MACHINE_CUDA) {
        throw Bytes.invalid("an ELF file for machine " + bytes.u16(18) + ", not for a CUDA GPU");
      }
      sections = readSections();
      sections.forEach(section -> sectionByName.putIfAbsent(section.name, section));
      symbols = readSymbols();
      Section info = sectionByName.get(".nv.info");
      if (info != null) {
        readSymbolAttributes(info.content);
      }
      List<KernelInfo> kernels = new ArrayList<>();
      List<GlobalVariable> globals = new ArrayList<>();
      for (int index = 0; index < symbols.size(); index++) {
        Symbol symbol = symbols.get(index);
        if (symbol.isKernel()) {
          kernels.add(kernel(index, symbol));
        } else if (symbol.type == SYMBOL_OBJECT) {
          addVariable(symbol, globals);
        }
      }
      return new Cubin(kernels, globals, traits());
    }

    private Set<ImageTrait> traits() {
      Set<ImageTrait> traits = EnumSet.noneOf(ImageTrait.class);
      if (symbols.stream()
          .anyMatch(symbol -> symbol.section == 0 && symbol.name.equals("malloc"))) {
        traits.add(ImageTrait.HEAP);
      }
      boolean addresses =
          sections.stream()
              .filter(section ->
                  (section.type == CubinCalls.SECTION_RELA
                          || section.type == CubinCalls.SECTION_REL)
                      && CubinCalls.isOfImage(section.name))
              .anyMatch(section ->
                  CubinCalls.takesAddress(
                      section.name, section.type, section.content, this::defines));
      if (addresses) {
        traits.add(ImageTrait.CODE_ADDRESSES);
      }
      return traits;
    }

    private boolean defines(long index, String otherThan) {
      if (index >= symbols.size()) {
        return false;
      }
      Symbol symbol = symbols.get((int) index);
      return symbol.type == SYMBOL_FUNCTION
          && symbol.section != 0
          && !symbol.name.equals(otherThan);
    }

    private List<Section> readSections() {
      long table = bytes.i64(40);
      int count = bytes.u16(60);
      int namesIndex = bytes.u16(62);
      if (count == 0) {
        return List.of();
      }
      if (bytes.u16(58) != SECTION_HEADER_BYTES || namesIndex >= count) {
        throw Bytes.invalid("an ELF file with a damaged section table");
      }
      Bytes headers = bytes.slice(table, (long) count * SECTION_HEADER_BYTES);
      Bytes names = content(headers, namesIndex);
      List<Section> result = new ArrayList<>(count);
      for (int index = 0; index < count; index++) {
        long header = (long) index * SECTION_HEADER_BYTES;
        result.add(
            new Section(
                name(names, headers.u32(header)),
                headers.i32(header + 4),
                headers.i32(header + 40),
                content(headers, index),
                headers.i64(header + 32)));
      }
      return result;
    }

    private String name(Bytes names, long offset) {
      if (names.length() == 0) {
        return "";
      }
      String name = names.text(offset);
      nameBudget -= name.length();
      if (nameBudget < 0) {
        throw Bytes.invalid("an ELF file whose names overlap");
      }
      return name;
    }

    private Bytes content(Bytes headers, int index) {
      long header = (long) index * SECTION_HEADER_BYTES;
      boolean empty = headers.i32(header + 4) == SECTION_NOBITS || headers.i32(header + 4) == 0;
      return empty
          ? bytes.slice(0, 0)
          : bytes.slice(headers.i64(header + 24), headers.i64(header + 32));
    }

    private List<Symbol> readSymbols() {
      List<Symbol> result = new ArrayList<>();
      for (Section section : sections) {
        if (section.type != SECTION_SYMTAB) {
          continue;
        }
        if (section.link < 0 || section.link >= sections.size()) {
          throw Bytes.invalid("an ELF symbol table without names");
        }
        Bytes names = sections.get(section.link).content;
        Bytes table = section.content;
        for (long at = 0; at + SYMBOL_BYTES <= table.length(); at += SYMBOL_BYTES) {
          result.add(
              new Symbol(
                  name(names, table.u32(at)),
                  table.u8(at + 4) & 0xf,
                  table.u8(at + 5),
                  table.u16(at + 6),
                  table.i64(at + 8),
                  table.i64(at + 16)));
        }
        break;
      }
      return result;
    }

    private void readSymbolAttributes(Bytes info) {
      forEachAttribute(
          info,
          (attribute, value) -> {
            if (value.length() < 8) {
              return;
            }
            if (attribute == ATTRIBUTE_REGISTER_COUNT) {
              registersBySymbol.put(value.i32(0), value.i32(4));
            } else if (attribute == ATTRIBUTE_FRAME_SIZE) {
              frameBytesBySymbol.put(value.i32(0), value.i32(4));
            }
          });
    }

    private KernelInfo kernel(int index, Symbol symbol) {
      List<OrderedParam> params = new ArrayList<>();
      int[] paramBytes = {0};
      int[] maxThreads = {MAX_THREADS};
      Section info = sectionByName.get(".nv.info." + symbol.name);
      if (info != null) {
        forEachAttribute(
            info.content,
            (attribute, value) -> {
              if (attribute == ATTRIBUTE_KERNEL_PARAM && value.length() >= 12) {
                int size = value.i32(8) >>> 18;
                ParamInfo param = new ParamInfo(value.u16(6), size, alignment(size));
                params.add(new OrderedParam(value.u16(4), param));
              } else if (attribute == ATTRIBUTE_PARAM_CBANK && value.length() >= 8) {
                paramBytes[0] = value.u16(6);
              } else if (attribute == ATTRIBUTE_MAX_THREADS && value.length() >= 12) {
                long product = value.u32(0) * value.u32(4) * value.u32(8);
                maxThreads[0] = Math.clamp(product, 1, MAX_THREADS);
              }
            });
      }
      params.sort(Comparator.comparingInt(OrderedParam::ordinal));
      Section shared = sectionByName.get(".nv.shared." + symbol.name);
      return new KernelInfo(
          symbol.name,
          params.stream().map(OrderedParam::param).toList(),
          paramBytes[0],
          new KernelResources(
              Math.clamp(registersBySymbol.getOrDefault(index, 16), 1, 255),
              shared == null ? 0 : Math.clamp(shared.sizeBytes, 0, Integer.MAX_VALUE),
              Math.max(0, frameBytesBySymbol.getOrDefault(index, 0))),
          maxThreads[0],
          ClusterDemand.NONE,
          arch);
    }

    private void addVariable(Symbol symbol, List<GlobalVariable> globals) {
      if (symbol.section <= 0 || symbol.section >= sections.size() || symbol.sizeBytes <= 0) {
        return;
      }
      Section section = sections.get(symbol.section);
      boolean constant = section.name.equals(".nv.constant3");
      if (!constant && !section.name.equals(".nv.global") && !section.name.endsWith(".init")) {
        return;
      }
      byte[] initializer =
          section.type == SECTION_NOBITS
              ? new byte[0]
              : section.content.slice(symbol.value, symbol.sizeBytes).copy();
      globals.add(
          new GlobalVariable(
              symbol.name,
              constant ? Space.CONST : Space.GLOBAL,
              symbol.sizeBytes,
              256,
              initializer,
              List.of(),
              Linkage.VISIBLE,
              VariableKind.DATA));
    }

    private static int alignment(int sizeBytes) {
      return Math.clamp(Integer.lowestOneBit(sizeBytes), 1, 16);
    }

    private static void forEachAttribute(Bytes info, AttributeConsumer consumer) {
      long at = 0;
      while (at + 4 <= info.length()) {
        boolean sized = info.u8(at) == FORMAT_SIZED;
        int length = sized ? info.u16(at + 2) : 0;
        consumer.accept(info.u8(at + 1), info.slice(at + 4, length));
        at += 4 + length;
      }
    }
  }

  private record OrderedParam(int ordinal, ParamInfo param) {}

  /** Takes one item of a {@code .nv.info} section. */
  @FunctionalInterface
  private interface AttributeConsumer {
    void accept(int attribute, Bytes value);
  }
}
