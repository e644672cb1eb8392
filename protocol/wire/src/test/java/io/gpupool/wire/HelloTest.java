// SPDX-License-Identifier: Apache-2.0
package io.gpupool.wire;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.Arrays;
import java.util.HexFormat;
import java.util.UUID;
import org.junit.jupiter.api.Test;

class HelloTest {
  private static final SessionId SESSION =
      new SessionId(new UUID(0x0102030405060708L, 0x090a0b0c0d0e0f10L));

  @Test
  void clientHello_ofASessionThatMoves_isFollowedByItsMessage() throws Exception {
    TextMessage message = TextMessage.ofType("moving").put("move", "1").build();
    byte[] bytes =
        ClientHello.moving(1, 1, SESSION, SessionKey.ofBytes(new byte[32]), message).encode();
    ClientHello read = ClientHello.decode(Arrays.copyOf(bytes, ClientHello.BYTES));
    assertThat(read.moves()).isTrue();
    assertThat(read.message()).isNull();
    assertThat(Arrays.copyOfRange(bytes, ClientHello.BYTES, bytes.length))
        .isEqualTo(message.encode());
    assertThat(read.with(message).message()).isEqualTo(message);
  }

  @Test
  void clientHello_encode_goldenBytes() throws Exception {
    ClientHello hello = new ClientHello(1, 2, SESSION, SessionKey.ofBytes(new byte[32]));
    assertThat(HexFormat.of().formatHex(hello.encode()))
        .isEqualTo(
            "475055504f4f4c01"
                + "01000200"
                + "00000000"
                + "0102030405060708090a0b0c0d0e0f10"
                + "00".repeat(32));
    assertThat(ClientHello.decode(hello.encode()).session()).isEqualTo(SESSION);
  }

  @Test
  void clientHello_ofAPeer_hasItsLinkBehindTheFlag() throws Exception {
    ClientHello hello =
        new ClientHello(1, 2, 15, SESSION, SessionKey.ofBytes(new byte[SessionKey.BYTES]));
    assertThat(HexFormat.of().formatHex(hello.encode(), 8, 16)).isEqualTo("0100020001000f00");
    assertThat(ClientHello.decode(hello.encode()).peerLink()).hasValue(15);
  }

  @Test
  void clientHello_ofAProgramThatResumes_hasTheResumeKeyBehindTheFlag() throws Exception {
    SessionKey key = SessionKey.ofBytes(HexFormat.of().parseHex("ab".repeat(32)));
    byte[] bytes = ClientHello.resuming(1, 2, SESSION, key).encode();
    assertThat(HexFormat.of().formatHex(bytes))
        .isEqualTo(
            "475055504f4f4c01"
                + "01000200"
                + "02000000"
                + "0102030405060708090a0b0c0d0e0f10"
                + "ab".repeat(32));
    ClientHello decoded = ClientHello.decode(bytes);
    assertThat(decoded.resumes()).isTrue();
    assertThat(decoded.peerLink()).isEmpty();
    assertThat(decoded.key().matches(key)).isTrue();
    assertThat(ClientHello.decode(new ClientHello(1, 2, SESSION, key).encode()).resumes())
        .isFalse();
  }

  @Test
  void clientHello_ofARank_isFollowedByItsMessage() throws Exception {
    TextMessage message = TextMessage.ofType("rank").put("rank", "1").build();
    SessionKey key = SessionKey.ofBytes(HexFormat.of().parseHex("cd".repeat(32)));
    byte[] bytes = ClientHello.ofRank(1, 2, SESSION, key, message).encode();
    assertThat(HexFormat.of().formatHex(bytes, 8, 16)).isEqualTo("0100020004000000");
    ClientHello read = ClientHello.decode(Arrays.copyOf(bytes, ClientHello.BYTES));
    assertThat(read.isOfRank()).isTrue();
    assertThat(read.hasMessage()).isTrue();
    assertThat(read.key().matches(key)).isTrue();
    assertThat(Arrays.copyOfRange(bytes, ClientHello.BYTES, bytes.length))
        .isEqualTo(message.encode());
  }

  @Test
  void clientHello_unknownFlagsOrVersionRange_isRefused() throws Exception {
    byte[] bytes = new ClientHello(1, 1, SESSION, SessionKey.ofBytes(new byte[32])).encode();
    byte[] flags = bytes.clone();
    for (int unknown : new int[] {5, 6, 128}) {
      flags[12] = (byte) unknown;
      assertThatThrownBy(() -> ClientHello.decode(flags)).hasMessageContaining("features");
    }
    byte[] resumedLink = bytes.clone();
    resumedLink[12] = 2;
    resumedLink[14] = 1;
    assertThatThrownBy(() -> ClientHello.decode(resumedLink)).hasMessageContaining("features");
    byte[] link = bytes.clone();
    link[14] = 1;
    assertThatThrownBy(() -> ClientHello.decode(link)).hasMessageContaining("features");
    link[12] = 1;
    link[14] = ClientHello.MAX_LINKS;
    assertThatThrownBy(() -> ClientHello.decode(link)).hasMessageContaining("features");
    byte[] range = bytes.clone();
    range[8] = 9;
    assertThatThrownBy(() -> ClientHello.decode(range)).hasMessageContaining("9 to 1");
  }

  @Test
  void serverHello_textOverTheLimit_isCut() throws Exception {
    ServerHello hello = ServerHello.refused(ServerHello.BUSY, "x".repeat(2000));
    ServerHello decoded = ServerHello.decode(hello.encode());
    assertThat(decoded.text()).hasSize(ServerHello.MAX_TEXT_BYTES);
    assertThat(decoded.isAccepted()).isFalse();
    assertThat(HexFormat.of().formatHex(ServerHello.accepted(1).encode()))
        .isEqualTo("0000000001000000");
  }

  @Test
  void agree_ranges_givesHighestCommonVersionOrZero() {
    assertThat(Versions.agree(1, 7)).isEqualTo(1);
    assertThat(Versions.agree(2, 7)).isZero();
    assertThat(Versions.agree(0, 0)).isZero();
  }

  @Test
  void sessionKey_toString_hidesTheKey() throws Exception {
    SessionKey key = SessionKey.ofBytes(HexFormat.of().parseHex("ab".repeat(32)));
    assertThat(key.toString()).doesNotContain("ab");
    assertThat(key.matches(SessionKey.ofBytes(key.bytes()))).isTrue();
    assertThat(key.matches(SessionKey.ofBytes(new byte[32]))).isFalse();
  }
}
