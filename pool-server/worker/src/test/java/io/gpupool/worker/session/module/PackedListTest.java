// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session.module;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Random;
import java.util.zip.Inflater;
import org.junit.jupiter.api.Test;

class PackedListTest {
  private static byte[] functions(int count) {
    ByteArrayOutputStream list = new ByteArrayOutputStream();
    for (int i = 0; i < count; i++) {
      list.writeBytes(
          FunctionTable.entry("_ZN2at6native6kernelILi" + i + "EfEEvT0_", new byte[16]));
    }
    return list.toByteArray();
  }

  @Test
  void list_long_isPackedWithItsLength() throws Exception {
    byte[] list = functions(500);
    byte[] packed = PackedList.of(list);

    assertThat(packed.length).isLessThan(list.length / 4);
    ByteBuffer header = ByteBuffer.wrap(packed).order(ByteOrder.LITTLE_ENDIAN);
    assertThat(header.getInt()).isEqualTo(PackedList.MARK);
    assertThat(header.getInt()).isEqualTo(list.length);
    byte[] unpacked = new byte[list.length];
    Inflater inflater = new Inflater(true);
    inflater.setInput(packed, 8, packed.length - 8);
    assertThat(inflater.inflate(unpacked)).isEqualTo(list.length);
    assertThat(inflater.finished()).isTrue();
    inflater.end();
    assertThat(unpacked).isEqualTo(list);
  }

  @Test
  void list_short_staysAsItIs() {
    byte[] list = functions(10);
    assertThat(PackedList.of(list)).isSameAs(list);
    assertThat(PackedList.of(new byte[0])).isEmpty();
  }

  @Test
  void list_thatDoesNotGetShorter_staysAsItIs() {
    byte[] list = new byte[10_000];
    new Random(1).nextBytes(list);
    assertThat(PackedList.of(list)).isSameAs(list);
  }
}
