// SPDX-License-Identifier: Apache-2.0
package io.gpupool.wire;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.ByteBuffer;
import java.util.Optional;
import java.util.Random;
import org.junit.jupiter.api.Test;

/**
 * Seeded hostile bytes: only {@link WireException} may come out, and what parses survives a trip.
 */
class WireFuzzTest {
  private static final int CASES = 100_000;

  @Test
  void textMessageReader_hostileBytes_parsesOrRefuses() throws Exception {
    Random random = new Random(1);
    int parsed = 0;
    for (int i = 0; i < CASES; i++) {
      byte[] bytes = mutate(random, valid(random));
      TextMessageReader reader = new TextMessageReader();
      try {
        Optional<TextMessage> message = reader.read(ByteBuffer.wrap(bytes));
        if (message.isPresent()) {
          parsed++;
          TextMessageReader again = new TextMessageReader();
          assertThat(again.read(ByteBuffer.wrap(message.get().encode()))).isEqualTo(message);
        } else {
          assertThat(reader.missingBytes()).isBetween(1, TextMessage.MAX_TEXT_BYTES);
        }
      } catch (WireException e) {
        assertThat(e.getMessage()).isNotBlank().doesNotContain("\n");
      }
    }
    assertThat(parsed).isBetween(CASES / 100, CASES);
  }

  @Test
  void hellos_hostileBytes_parseOrRefuse() throws Exception {
    Random random = new Random(2);
    int accepted = 0;
    int resuming = 0;
    int peers = 0;
    for (int i = 0; i < CASES; i++) {
      byte[] client = new byte[random.nextInt(80)];
      random.nextBytes(client);
      if (random.nextInt(4) > 0) {
        ClientHello hello = hello(random);
        client = hello.encode();
        for (int flips = random.nextInt(3); flips > 0; flips--) {
          client[random.nextInt(client.length)] = (byte) random.nextInt();
        }
      }
      try {
        ClientHello hello = ClientHello.decode(client);
        assertThat(hello.encode()).isEqualTo(client);
        accepted++;
        resuming += hello.resumes() ? 1 : 0;
        peers += hello.peerLink().isPresent() ? 1 : 0;
      } catch (WireException e) {
        assertThat(e.getMessage()).isNotBlank();
      }
      byte[] server = new byte[8 + random.nextInt(40)];
      random.nextBytes(server);
      if (random.nextBoolean()) {
        server[6] = (byte) (server.length - 8);
        server[7] = 0;
      }
      try {
        ServerHello.decode(server);
        accepted++;
      } catch (WireException e) {
        assertThat(e.getMessage()).isNotBlank();
      }
    }
    assertThat(accepted).isGreaterThan(CASES / 10);
    assertThat(resuming).as("of programs that resume").isGreaterThan(CASES / 10);
    assertThat(peers).as("of peers").isGreaterThan(CASES / 10);
  }

  private static ClientHello hello(Random random) throws WireException {
    byte[] id = new byte[SessionId.BYTES];
    byte[] key = new byte[SessionKey.BYTES];
    random.nextBytes(id);
    random.nextBytes(key);
    int min = random.nextInt(100);
    int max = min + random.nextInt(100);
    return switch (random.nextInt(3)) {
      case 0 -> new ClientHello(min, max, SessionId.ofBytes(id), SessionKey.ofBytes(key));
      case 1 ->
          new ClientHello(
              min,
              max,
              random.nextInt(ClientHello.MAX_LINKS),
              SessionId.ofBytes(id),
              SessionKey.ofBytes(key));
      default -> ClientHello.resuming(min, max, SessionId.ofBytes(id), SessionKey.ofBytes(key));
    };
  }

  private static byte[] valid(Random random) {
    TextMessage.Builder message = TextMessage.ofType("attach");
    for (int fields = random.nextInt(5); fields > 0; fields--) {
      StringBuilder value = new StringBuilder();
      for (int n = random.nextInt(20); n > 0; n--) {
        value.append("ab=\\\n\u00e9 \u4e2d".charAt(random.nextInt(8)));
      }
      message.put("k" + random.nextInt(8), value.toString());
    }
    return message.build().encode();
  }

  private static byte[] mutate(Random random, byte[] bytes) {
    switch (random.nextInt(4)) {
      case 0 -> {
        byte[] noise = new byte[random.nextInt(200)];
        random.nextBytes(noise);
        return noise;
      }
      case 1 -> {
        bytes[random.nextInt(bytes.length)] = (byte) random.nextInt();
        return bytes;
      }
      case 2 -> {
        return java.util.Arrays.copyOf(bytes, random.nextInt(bytes.length + 1));
      }
      default -> {
        for (int i = TextMessage.HEADER_BYTES; i < bytes.length; i++) {
          if (random.nextInt(30) == 0) {
            bytes[i] = (byte) random.nextInt(128);
          }
        }
        return bytes;
      }
    }
  }
}
