// SPDX-License-Identifier: Apache-2.0
package io.gpupool.wire;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class TextMessageTest {
  @Test
  void encode_smallMessage_goldenBytes() {
    byte[] bytes = TextMessage.ofType("hello").put("pid", 7).build().encode();
    assertThat(HexFormat.of().formatHex(bytes))
        .isEqualTo("47504131" + "11000000" + "747970653d68656c6c6f0a" + "7069643d370a");
  }

  @Test
  void parse_valueWithNewlineAndBackslash_isRestored() throws Exception {
    TextMessage message =
        TextMessage.ofType("attach").put("program", "a\nb\\n=c\u00e9\ud83d\ude80").build();
    byte[] bytes = message.encode();
    assertThat(TextMessage.parse(text(bytes))).isEqualTo(message);
  }

  @Test
  void parse_emptyValueAndAbsentOne_areKept() throws Exception {
    TextMessage message = TextMessage.ofType("x").put("a", "").putIfPresent("b", null).build();
    TextMessage parsed = TextMessage.parse(text(message.encode()));
    assertThat(parsed.fields()).isEqualTo(Map.of("type", "x", "a", ""));
    assertThat(parsed.get("b")).isEmpty();
  }

  @Test
  void parse_malformedText_saysWhatIsWrong() {
    assertMalformed("type=a", "not ended");
    assertMalformed("type=a\nnonsense\n", "line 2");
    assertMalformed("=a\n", "line 1");
    assertMalformed("a b=c\n", "line 1");
    assertMalformed("a\n=b\n", "line 1");
    assertMalformed("a=1\na=2\n", "twice");
    assertMalformed("a=\\x\n", "escape");
    assertMalformed("a=\\\n", "escape");
  }

  @Test
  void checkHeader_badMagicOrLength_isRefused() {
    assertThatThrownBy(() -> TextMessage.checkHeader(1, 1)).hasMessageContaining("magic");
    assertThatThrownBy(() -> TextMessage.checkHeader(TextMessage.MAGIC, 16385))
        .hasMessageContaining("16385");
    assertThatThrownBy(() -> TextMessage.checkHeader(TextMessage.MAGIC, -1))
        .hasMessageContaining("4294967295");
  }

  @Test
  void encode_tooLong_isRefused() {
    TextMessage message = TextMessage.ofType("a").put("b", "x".repeat(16384)).build();
    assertThatThrownBy(message::encode).hasMessageContaining("limit 16384");
  }

  @Test
  void requireNumber_wrongValues_sayTheRange() throws Exception {
    TextMessage message = TextMessage.ofType("a").put("n", "12").put("m", "-1").build();
    assertThat(message.requireNumber("n", 12)).isEqualTo(12);
    assertThatThrownBy(() -> message.requireNumber("n", 11)).hasMessageContaining("0 to 11");
    assertThatThrownBy(() -> message.requireNumber("m", 11)).hasMessageContaining("'m'");
    assertThatThrownBy(() -> message.requireNumber("z", 11)).hasMessageContaining("lacks");
    assertThatThrownBy(() -> message.requireNumber("type", 11)).hasMessageContaining("'type'");
  }

  @Test
  void read_anySplit_takesExactlyTheMessages() throws Exception {
    TextMessage first = TextMessage.ofType("first").put("a", "1").build();
    TextMessage second = TextMessage.ofType("second").build();
    byte[] bytes =
        Arrays.copyOf(first.encode(), first.encode().length + second.encode().length + 1);
    System.arraycopy(second.encode(), 0, bytes, first.encode().length, second.encode().length);
    for (int split = 0; split <= bytes.length; split++) {
      TextMessageReader reader = new TextMessageReader();
      ByteBuffer left = ByteBuffer.wrap(bytes, 0, split);
      ByteBuffer right = ByteBuffer.wrap(bytes, split, bytes.length - split);
      assertThat(next(reader, left, right)).isEqualTo(first);
      assertThat(next(reader, left, right)).isEqualTo(second);
      assertThat(left.remaining() + right.remaining()).isEqualTo(1);
    }
  }

  private static TextMessage next(TextMessageReader reader, ByteBuffer left, ByteBuffer right)
      throws WireException {
    Optional<TextMessage> message = reader.read(left);
    return message.isPresent() ? message.get() : reader.read(right).orElseThrow();
  }

  private static void assertMalformed(String text, String reason) {
    assertThatThrownBy(() -> TextMessage.parse(text.getBytes(StandardCharsets.UTF_8)))
        .isInstanceOf(WireException.class)
        .hasMessageContaining(reason);
  }

  private static byte[] text(byte[] message) {
    return Arrays.copyOfRange(message, TextMessage.HEADER_BYTES, message.length);
  }
}
