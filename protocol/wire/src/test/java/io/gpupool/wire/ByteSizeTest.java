// SPDX-License-Identifier: Apache-2.0
package io.gpupool.wire;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;

class ByteSizeTest {
  @Test
  void parse_unitsAsPeopleWriteThem_givesBytes() {
    assertThat(ByteSize.parse("0").bytes()).isZero();
    assertThat(ByteSize.parse("1024").bytes()).isEqualTo(1024);
    assertThat(ByteSize.parse("4Gi").bytes()).isEqualTo(4L << 30);
    assertThat(ByteSize.parse("4 GiB").bytes()).isEqualTo(4L << 30);
    assertThat(ByteSize.parse("1.5G").bytes()).isEqualTo(1_500_000_000L);
    assertThat(ByteSize.parse("10MB").bytes()).isEqualTo(10_000_000L);
    assertThat(ByteSize.parse("7b").bytes()).isEqualTo(7);
  }

  @Test
  void parse_somethingElse_saysHowToWriteIt() {
    for (String text : new String[] {"", "Gi", "-1", "1Xi", "1.2.3G", "9999999999Ti", "1e9"}) {
      assertThatThrownBy(() -> ByteSize.parse(text)).hasMessageContaining("512Mi");
    }
  }

  @Test
  void toString_anySize_isShort() {
    assertThat(new ByteSize(0)).hasToString("0 B");
    assertThat(new ByteSize(2L << 30)).hasToString("2.0 GiB");
    assertThat(new ByteSize(512L << 20)).hasToString("512 MiB");
    assertThat(new ByteSize(Long.MAX_VALUE)).hasToString("8.0 EiB");
  }
}
