// SPDX-License-Identifier: Apache-2.0
package io.gpupool.cuda;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HexFormat;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** The golden frame of a launch, which the shim's test encodes, at the places of its fields. */
class GoldenLaunchTest {
  private static final Path GOLDEN = Path.of("../../protocol/contract/src/test/golden/frames.txt");
  private static final String PARAMETERS = "golden bytes";

  private final ByteBuffer frame = frame();

  @Test
  void goldenLaunch_read_hasItsFieldsAttributeAndParameters() {
    assertThat(frame.getInt(RequestHeader.LENGTH)).isEqualTo(frame.capacity());
    assertThat(words(LaunchRequest.FUNCTION, 2)).containsExactly(16, 1);
    assertThat(words(LaunchRequest.GRID, 3)).containsExactly(2, 3, 4);
    assertThat(words(LaunchRequest.BLOCK, 3)).containsExactly(5, 6, 7);
    assertThat(frame.getInt(LaunchRequest.SHARED_BYTES)).isEqualTo(0x100);
    assertThat(frame.getInt(LaunchRequest.FLAGS)).isZero();
    assertThat(frame.getInt(LaunchRequest.PARAMETER_BYTES)).isEqualTo(PARAMETERS.length());
    assertThat(frame.getInt(LaunchRequest.ATTRIBUTE_COUNT)).isOne();
    int attribute = LaunchRequest.BYTES;
    assertThat(frame.getInt(attribute + LaunchAttributeLayout.ID))
        .isEqualTo(LaunchAttributeId.PRIORITY);
    assertThat(frame.get(attribute + LaunchAttributeLayout.VALUE)).isEqualTo((byte) 0x2a);
    byte[] parameters = new byte[PARAMETERS.length()];
    frame.get(attribute + LaunchAttributeLayout.BYTES, parameters);
    assertThat(new String(parameters, StandardCharsets.US_ASCII)).isEqualTo(PARAMETERS);
  }

  private int[] words(int at, int count) {
    return IntStream.range(0, count).map(i -> frame.getInt(at + Integer.BYTES * i)).toArray();
  }

  private static ByteBuffer frame() {
    try {
      String line =
          Files.readAllLines(GOLDEN).stream()
              .filter(golden -> golden.startsWith("launch "))
              .findFirst()
              .orElseThrow();
      String digits = line.substring("launch ".length()).replace('.', '0');
      return ByteBuffer.wrap(HexFormat.of().parseHex(digits)).order(ByteOrder.LITTLE_ENDIAN);
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }
}
