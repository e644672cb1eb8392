// SPDX-License-Identifier: Apache-2.0
package io.gpupool.nvml;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.worker.TestLibrary;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;

/** The management library of a driver that lacks most of the functions asked for. */
class NvmlTest {
  @Test
  void open_noSuchLibrary_isEmpty() {
    assertThat(Nvml.open("/nowhere/libnvidia-ml.so.1")).isEmpty();
    assertThat(Nvml.open("libgpupool-no-such-library.so.1")).isEmpty();
  }

  @Test
  void open_libraryWithoutAnyOfTheFunctions_isEmpty() {
    assertThat(Nvml.open("libc.so.6")).isEmpty();
  }

  @Test
  void open_relativePath_isOneOfTheWorkingFolder() {
    Path library = TestLibrary.built("oldnvml", "libnvidia-ml.so.1").toAbsolutePath();
    Path relative = Path.of("").toAbsolutePath().relativize(library);
    assertThat(Nvml.open(relative.toString())).isPresent();
  }

  @Test
  void functions_missing_areAnsweredAsNotKnown() {
    Nvml nvml =
        Nvml.open(TestLibrary.built("oldnvml", "libnvidia-ml.so.1").toString()).orElseThrow();
    List<Nvml.Device> devices = nvml.devices();
    assertThat(devices).extracting(Nvml.Device::uuid).containsExactly("GPU-old");
    Nvml.Device card = devices.getFirst();
    assertThat(card.isSlice()).isFalse();
    assertThat(nvml.driverVersion()).isEmpty();
    assertThat(nvml.faults(devices)).isEmpty();
    assertThat(nvml.usedBytes(card, 1)).isEmpty();
    Nvml.Sample sample = nvml.sample(card);
    assertThat(sample.condition()).isEqualTo("ok");
    assertThat(sample.usedBytes()).isNull();
    assertThat(sample.cooling().temperatureCelsius()).isNull();
    assertThat(sample.clocks().sm()).isNull();
    assertThat(sample.errors().uncorrected()).isNull();
  }
}
