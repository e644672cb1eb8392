// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.image;

import io.gpupool.soft.CudaStatus;
import io.gpupool.soft.GpuException;
import io.gpupool.soft.ptx.GlobalVariable;
import io.gpupool.soft.ptx.KernelInfo;
import io.gpupool.soft.ptx.PtxException;
import io.gpupool.soft.ptx.module.PtxModule;
import io.gpupool.soft.ptx.module.PtxUnit;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.EnumSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * A module image as a program hands it to the driver, read for one compute capability: PTX that can
 * run, or else what the machine code in it tells about its kernels. Immutable.
 *
 * @param module the code; null if none of it can run here
 * @param kernels all kernels that have a name
 * @param globals variables of module scope
 * @param unusable the reason for which nothing can run here; empty if there is a module
 * @param traits what its kernels do
 */
public record DeviceImage(
    @Nullable PtxModule module,
    List<KernelInfo> kernels,
    List<GlobalVariable> globals,
    String unusable,
    Set<ImageTrait> traits) {
  /** Longest PTX text that is accepted. */
  public static final long MAX_PTX_BYTES = FatbinEntry.MAX_PLAIN_BYTES;

  public DeviceImage {
    kernels = List.copyOf(kernels);
    globals = List.copyOf(globals);
    traits = Set.copyOf(traits);
  }

  /** Returns the code, if any of it can run here. */
  public Optional<PtxModule> ptx() {
    return Optional.ofNullable(module);
  }

  /**
   * Reads an image: PTX text (ended by NUL or by its length), a fat binary, several fat binaries
   * one after the other, which are linked, or an ELF file.
   *
   * @param computeCapability of the device, 10 * major + minor
   * @throws GpuException INVALID_IMAGE, INVALID_PTX (the message is the compiler's),
   *     UNSUPPORTED_PTX_VERSION if it is newer than what is known here, OUT_OF_MEMORY,
   *     NO_BINARY_FOR_GPU if it holds nothing for a GPU of this or any other kind
   */
  public static DeviceImage parse(MemorySegment image, int computeCapability) {
    Bytes bytes = new Bytes(image);
    if (bytes.length() < 4) {
      throw Bytes.invalid(bytes.length() + " bytes");
    }
    return switch (bytes.i32(0)) {
      case Fatbin.MAGIC -> fromFatbins(Fatbin.parseAll(bytes), computeCapability);
      case Cubin.MAGIC -> fromCubin(Cubin.parse(bytes, computeCapability), MACHINE_CODE_ONLY);
      default -> fromText(bytes, computeCapability);
    };
  }

  private static final String MACHINE_CODE_ONLY =
      "the image holds machine code only; build it with PTX (nvcc -gencode"
          + " arch=compute_NN,code=compute_NN; NVRTC --gpu-architecture=compute_NN) to run it on"
          + " the software GPU";

  private static DeviceImage fromText(Bytes bytes, int computeCapability) {
    requirePtxLength(bytes);
    String text = bytes.text(0);
    if (!text.contains(".version")) {
      throw Bytes.invalid("neither PTX text, nor a fat binary, nor an ELF file");
    }
    try {
      return link(List.of(PtxUnit.parse(text, computeCapability)));
    } catch (PtxException e) {
      throw refusal(e);
    }
  }

  private static DeviceImage fromPtx(PtxModule module, List<PtxUnit> units) {
    Set<ImageTrait> traits = EnumSet.noneOf(ImageTrait.class);
    if (module.usesHeap()) {
      traits.add(ImageTrait.HEAP);
    }
    if (units.stream().anyMatch(DeviceImage::callsByAddress)) {
      traits.add(ImageTrait.CODE_ADDRESSES);
    }
    return new DeviceImage(module, module.kernels(), module.globals(), "", traits);
  }

  private static boolean callsByAddress(PtxUnit unit) {
    return unit.text().contains(".callprototype") || unit.text().contains(".calltargets");
  }

  private static DeviceImage fromCubin(Cubin cubin, String unusable) {
    return new DeviceImage(null, cubin.kernels(), cubin.globals(), unusable, cubin.traits());
  }

  /** Units of several containers are linked with each other. */
  private static DeviceImage fromFatbins(List<Fatbin> parts, int computeCapability) {
    List<PtxUnit> units = new ArrayList<>();
    List<FatbinEntry> machineCode = new ArrayList<>();
    GpuException refused = null;
    for (Fatbin part : parts) {
      try {
        addUnits(part, computeCapability, units);
      } catch (PtxException e) {
        refused = refused == null ? refusal(e) : refused;
      }
      part.entries().stream()
          .filter(entry -> entry.kind() == FatbinEntry.ELF)
          .min(Comparator.comparingInt(entry -> distance(entry.arch(), computeCapability)))
          .ifPresent(machineCode::add);
    }
    if (refused == null && !units.isEmpty()) {
      return link(units);
    }
    if (!machineCode.isEmpty()) {
      String unusable = refused == null ? MACHINE_CODE_ONLY : String.valueOf(refused.getMessage());
      return fromMachineCode(machineCode, unusable);
    }
    if (refused != null) {
      throw refused;
    }
    throw new GpuException(
        CudaStatus.NO_BINARY_FOR_GPU,
        "the fat binary holds no code for compute capability "
            + computeCapability / 10
            + "."
            + computeCapability % 10
            + " or lower; build it with PTX for one of these");
  }

  /** Of code that was linked before, what lists kernels is the whole; the rest are its parts. */
  private static DeviceImage fromMachineCode(List<FatbinEntry> entries, String unusable) {
    DeviceImage image = fromEntry(entries.getFirst(), unusable);
    for (int i = 1; i < entries.size() && image.kernels().isEmpty(); i++) {
      image = fromEntry(entries.get(i), unusable);
    }
    return image;
  }

  private static DeviceImage fromEntry(FatbinEntry entry, String unusable) {
    return fromCubin(Cubin.parse(entry.unpack(), entry.arch()), unusable);
  }

  private static DeviceImage link(List<PtxUnit> units) {
    try {
      return fromPtx(PtxModule.link(units), units);
    } catch (PtxException e) {
      throw refusal(e);
    }
  }

  /** What a driver answers to PTX that cannot be accepted. */
  static GpuException refusal(PtxException e) {
    CudaStatus status =
        e.isUnsupportedVersion() ? CudaStatus.UNSUPPORTED_PTX_VERSION : CudaStatus.INVALID_PTX;
    return new GpuException(status, e.getMessage());
  }

  /** The units of fat binaries that may be linked with others. */
  static List<PtxUnit> units(List<Fatbin> parts, int computeCapability) {
    List<PtxUnit> units = new ArrayList<>();
    try {
      for (Fatbin part : parts) {
        addUnits(part, computeCapability, units);
      }
    } catch (PtxException e) {
      throw refusal(e);
    }
    return units;
  }

  /** A unit as PTX text. */
  static PtxUnit unit(Bytes bytes, int computeCapability) {
    requirePtxLength(bytes);
    try {
      return PtxUnit.parse(bytes.text(0), computeCapability);
    } catch (PtxException e) {
      throw refusal(e);
    }
  }

  private static void addUnits(Fatbin fatbin, int computeCapability, List<PtxUnit> units)
      throws PtxException {
    unit(fatbin, computeCapability).ifPresent(units::add);
    for (FatbinEntry entry : fatbin.entries()) {
      if (entry.kind() == FatbinEntry.LINKED_PTX) {
        units.add(PtxUnit.parse(entry.unpack().text(0), computeCapability));
      }
    }
  }

  /** The unit for the highest architecture that can run here; empty if there is no PTX at all. */
  private static Optional<PtxUnit> unit(Fatbin fatbin, int computeCapability) throws PtxException {
    List<FatbinEntry> texts = new ArrayList<>(fatbin.entries());
    texts.removeIf(entry -> entry.kind() != FatbinEntry.PTX || entry.arch() > computeCapability);
    texts.sort(Comparator.comparingInt(FatbinEntry::arch).reversed());
    PtxException refused = null;
    for (FatbinEntry entry : texts) {
      Bytes bytes = entry.unpack();
      requirePtxLength(bytes);
      try {
        return Optional.of(PtxUnit.parse(bytes.text(0), computeCapability));
      } catch (PtxException e) {
        // Text for an architecture-specific target may be refused where a lower one is not.
        refused = refused == null ? e : refused;
      }
    }
    if (refused != null) {
      throw refused;
    }
    return Optional.empty();
  }

  private static int distance(int arch, int computeCapability) {
    return Math.abs(Math.clamp(arch, 0, 10_000) - computeCapability);
  }

  private static void requirePtxLength(Bytes bytes) {
    if (bytes.length() > MAX_PTX_BYTES) {
      throw Bytes.invalid("PTX text of " + bytes.length() + " bytes");
    }
  }
}
