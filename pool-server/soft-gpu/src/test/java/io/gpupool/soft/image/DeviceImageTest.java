// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.image;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.tuple;

import io.gpupool.soft.CudaStatus;
import io.gpupool.soft.GpuException;
import io.gpupool.soft.ptx.GlobalVariable;
import io.gpupool.soft.ptx.KernelInfo;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

final class DeviceImageTest {
  @ParameterizedTest
  @CsvSource({
    "sample.ptx, 90, 75",
    "plain.fatbin, 90, 90",
    "lz4.fatbin, 90, 90",
    "zstd.fatbin, 90, 90",
    "zstd-all.fatbin, 90, 90",
    "plain.fatbin, 80, 75",
    "zstd.fatbin, 89, 75",
    "lz4.fatbin, 120, 90",
  })
  void parse_imageWithPtx_takesTheHighestThatFits(String file, int capability, int target) {
    DeviceImage image = DeviceImage.parse(SampleImages.image(file), capability);

    assertThat(image.ptx()).isPresent();
    assertThat(image.kernels())
        .extracting(KernelInfo::name, KernelInfo::target)
        .containsExactlyInAnyOrder(tuple("scale", target), tuple("count", target));
    assertThat(image.globals())
        .extracting(GlobalVariable::name)
        .containsExactlyInAnyOrder("counter", "table", "pointer", "second");
    assertThat(image.unusable()).isEmpty();
  }

  @ParameterizedTest
  @ValueSource(strings = {"ptx", "75.cubin", "90.cubin"})
  void parse_kernelsThatCallAndAllocate_tellsOfAddressesAndHeap(String ending) {
    assertThat(traits("direct." + ending)).isEmpty();
    assertThat(traits("address." + ending)).containsExactly(ImageTrait.CODE_ADDRESSES);
    assertThat(traits("heap." + ending)).containsExactly(ImageTrait.HEAP);
  }

  private static Set<ImageTrait> traits(String file) {
    return DeviceImage.parse(SampleImages.image("traits-" + file), 90).traits();
  }

  @ParameterizedTest
  @ValueSource(strings = {"sample.cubin", "machine-only.fatbin"})
  void parse_machineCodeOnly_knowsKernelsAndParameters(String file) {
    DeviceImage image = DeviceImage.parse(SampleImages.image(file), 90);
    DeviceImage ptx = DeviceImage.parse(SampleImages.image("sample.ptx"), 90);

    assertThat(image.ptx()).isEmpty();
    assertThat(image.unusable()).contains("-gencode");
    assertThat(image.kernels()).hasSize(2);
    for (KernelInfo kernel : image.kernels()) {
      KernelInfo same =
          ptx.kernels().stream()
              .filter(candidate -> candidate.name().equals(kernel.name()))
              .findAny()
              .orElseThrow();
      assertThat(offsetsAndSizes(kernel)).isEqualTo(offsetsAndSizes(same));
      assertThat(kernel.maxThreadsPerBlock()).isEqualTo(same.maxThreadsPerBlock());
      assertThat(kernel.resources().registers()).isBetween(1, 255);
    }
    assertThat(image.globals())
        .extracting(GlobalVariable::name, GlobalVariable::sizeBytes)
        .contains(tuple("counter", 4L), tuple("table", 16L), tuple("pointer", 8L));
    byte[] counter =
        image.globals().stream()
            .filter(global -> global.name().equals("counter"))
            .findAny()
            .orElseThrow()
            .initializer();
    assertThat(counter).containsExactly(7, 0, 0, 0);
  }

  @Test
  void parse_fatbinForNewerGpuOnly_isNoBinary() {
    assertStatus(SampleImages.image("newer.fatbin"), 90, CudaStatus.NO_BINARY_FOR_GPU);
    assertThat(DeviceImage.parse(SampleImages.image("newer.fatbin"), 120).ptx()).isPresent();
  }

  @Test
  void parse_fatbinWithoutCodeToLoad_isNoBinary() {
    assertStatus(SampleImages.image("lto.fatbin"), 90, CudaStatus.NO_BINARY_FOR_GPU);
  }

  @Test
  void parse_textAfterNul_isIgnored() {
    byte[] text = SampleImages.bytes("sample.ptx");
    byte[] longer = new byte[text.length + 100];
    Arrays.fill(longer, (byte) 0xa5);
    System.arraycopy(text, 0, longer, 0, text.length);
    longer[text.length] = 0;

    assertThat(DeviceImage.parse(MemorySegment.ofArray(longer), 90).kernels()).hasSize(2);
  }

  @Test
  void parse_wrongPtx_isInvalidPtxWithTheCompilersText() {
    MemorySegment text =
        MemorySegment.ofArray(
            ".version 8.0\n.target sm_75\n.address_size 64\n.visible .entry f() { nonsense; }\n"
                .getBytes(StandardCharsets.US_ASCII));

    assertThatThrownBy(() -> DeviceImage.parse(text, 90))
        .isInstanceOfSatisfying(
            GpuException.class, e -> assertThat(e.status()).isEqualTo(CudaStatus.INVALID_PTX))
        .hasMessageContaining("line 4");
  }

  @Test
  void parse_newerPtx_isUnsupportedVersionWithTheCompilersText() {
    MemorySegment text =
        MemorySegment.ofArray(
            ".version 98.0\n.target sm_75\n.address_size 64\n".getBytes(StandardCharsets.US_ASCII));

    assertThatThrownBy(() -> DeviceImage.parse(text, 90))
        .isInstanceOfSatisfying(
            GpuException.class,
            e -> assertThat(e.status()).isEqualTo(CudaStatus.UNSUPPORTED_PTX_VERSION))
        .hasMessageContaining("Unsupported .version 98.0");
  }

  @Test
  void parse_somethingElse_isInvalidImage() {
    for (String text : List.of("", "abc", "not a module at all, but long enough", "\u007fELF")) {
      assertStatus(
          MemorySegment.ofArray(text.getBytes(StandardCharsets.ISO_8859_1)),
          90,
          CudaStatus.INVALID_IMAGE);
    }
  }

  @Test
  void parse_elfForAnotherMachine_isInvalidImage() {
    byte[] elf = SampleImages.bytes("sample.cubin");
    elf[18] = 62;

    assertStatus(MemorySegment.ofArray(elf), 90, CudaStatus.INVALID_IMAGE);
  }

  @Test
  void parse_compressedPartThatClaimsTooMuch_isInvalidImageWithoutAllocating() {
    byte[] fatbin = SampleImages.bytes("zstd.fatbin");
    int plainSizeOfFirstEntry = 16 + 56;
    ByteBuffer.wrap(fatbin).order(ByteOrder.LITTLE_ENDIAN).putLong(plainSizeOfFirstEntry, 1L << 60);

    assertStatus(MemorySegment.ofArray(fatbin), 80, CudaStatus.INVALID_IMAGE);
  }

  private static List<List<Integer>> offsetsAndSizes(KernelInfo kernel) {
    return kernel.params().stream()
        .map(param -> List.of(param.offsetBytes(), param.sizeBytes()))
        .toList();
  }

  private static void assertStatus(MemorySegment image, int capability, CudaStatus status) {
    assertThatThrownBy(() -> DeviceImage.parse(image, capability))
        .isInstanceOfSatisfying(GpuException.class, e -> assertThat(e.status()).isEqualTo(status));
  }
}
