// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.exec.access;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.soft.memory.AddressPlace;
import io.gpupool.soft.memory.DeviceMemory;
import io.gpupool.soft.ptx.module.PtxModule;
import java.util.List;
import org.junit.jupiter.api.Test;

class AddressWindowsTest {
  private static final long WINDOW_BYTES = 1L << 32;

  @Test
  void windows_ofOtherSpaces_areNoDevicesMemory() {
    List<Long> windows =
        List.of(
            AddressTranslation.SHARED_WINDOW,
            AddressTranslation.LOCAL_WINDOW,
            AddressTranslation.PARAM_WINDOW);
    assertThat(windows).doesNotHaveDuplicates();
    for (int slot = 1; slot <= 3; slot++) {
      try (DeviceMemory memory = new DeviceMemory(0, 1 << 20, AddressPlace.inSlot(slot, 0, 1))) {
        for (long window : windows) {
          assertThat(memory.covers(window)).as("slot %d, 0x%x", slot, window).isFalse();
          assertThat(memory.covers(window + WINDOW_BYTES - 1)).isFalse();
        }
      }
    }
    assertThat(windows).doesNotContain(PtxModule.FUNCTION_WINDOW);
  }
}
