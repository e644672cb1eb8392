// SPDX-License-Identifier: Apache-2.0
package io.gpupool.wire;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.OptionalInt;
import org.jspecify.annotations.Nullable;

/**
 * The first message of a client on a call stream, and of a pool-server on a connection that it
 * makes for a worker to another worker.
 *
 * <pre>
 *  0                  8            10           12      14     16             32              64
 *  +------------------+------------+------------+-------+------+--------------+---------------+
 *  | "GPUPOOL" 0x01   | versionMin | versionMax | flags | link | session id   | session key   |
 *  +------------------+------------+------------+-------+------+--------------+---------------+
 * </pre>
 *
 * flags 0: of a program. flags 1: of a peer, whose place among the program's links is {@code link};
 * then the key is the session's peer key. flags 2: of a program whose former connection broke; then
 * the key is a resume key. flags 3: of a pool-server that moves the session; then the key is a move
 * key, and a {@link TextMessage} follows. flags 4: of a pool-server that connects two ranks of a
 * communicator; then the key is that rank's, and a {@link TextMessage} follows. Without flags 1,
 * the link is 0.
 *
 * @param versionMin lowest call-stream version the client speaks
 * @param versionMax highest call-stream version the client speaks
 * @param purpose of the connection
 * @param link the link of the worker for which the connection is made; null: it is none of a peer
 * @param message about a session that moves or a rank; null: there is none, or it is to come
 */
public record ClientHello(
    int versionMin,
    int versionMax,
    Purpose purpose,
    @Nullable Integer link,
    SessionId session,
    SessionKey key,
    @Nullable TextMessage message) {
  public static final int BYTES = 64;

  /** The number of servers that the GPUs of one program can be on. */
  public static final int MAX_LINKS = 16;

  /** The purposes of connections, in the order of their numbers. */
  public enum Purpose {
    /** A program connects to a session that was opened. */
    BEGIN,
    /** A worker connects to another one of the same program. */
    PEER,
    /** A program connects to its session again. */
    RESUME,
    /** A session moves to another worker. */
    MOVE,
    /** Two ranks of a communicator connect. */
    RANK
  }

  private static final int MAGIC_BYTES = 8;
  private static final int VERSION_MIN_OFFSET = 8;
  private static final int VERSION_MAX_OFFSET = 10;
  private static final int FLAGS_OFFSET = 12;
  private static final int LINK_OFFSET = 14;
  private static final int SESSION_OFFSET = 16;
  private static final int KEY_OFFSET = 32;
  private static final byte[] MAGIC = "GPUPOOL\u0001".getBytes(StandardCharsets.US_ASCII);

  /** Returns the hello of a program. */
  public ClientHello(int versionMin, int versionMax, SessionId session, SessionKey key) {
    this(versionMin, versionMax, Purpose.BEGIN, null, session, key, null);
  }

  /** Returns the hello of a pool-server for the worker of a link. */
  public ClientHello(int versionMin, int versionMax, int link, SessionId session, SessionKey key) {
    this(versionMin, versionMax, Purpose.PEER, link, session, key, null);
  }

  /** Returns the hello of a program that resumes its session. */
  public static ClientHello resuming(
      int versionMin, int versionMax, SessionId session, SessionKey resumeKey) {
    return new ClientHello(versionMin, versionMax, Purpose.RESUME, null, session, resumeKey, null);
  }

  /** Returns the hello of a pool-server that moves a session. */
  public static ClientHello moving(
      int versionMin, int versionMax, SessionId session, SessionKey moveKey, TextMessage message) {
    return new ClientHello(versionMin, versionMax, Purpose.MOVE, null, session, moveKey, message);
  }

  /** Returns the hello of a pool-server that connects two ranks of a communicator. */
  public static ClientHello ofRank(
      int versionMin, int versionMax, SessionId session, SessionKey rankKey, TextMessage message) {
    return new ClientHello(versionMin, versionMax, Purpose.RANK, null, session, rankKey, message);
  }

  /** Returns the hello with the message that follows it. */
  public ClientHello with(TextMessage following) {
    return new ClientHello(versionMin, versionMax, purpose, link, session, key, following);
  }

  /** Returns whether the session had a connection of its program before. */
  public boolean resumes() {
    return purpose == Purpose.RESUME;
  }

  /** Returns whether the session moves. */
  public boolean moves() {
    return purpose == Purpose.MOVE;
  }

  /** Returns whether the connection is of another rank of a communicator. */
  public boolean isOfRank() {
    return purpose == Purpose.RANK;
  }

  /** Returns whether a message follows. */
  public boolean hasMessage() {
    return moves() || isOfRank();
  }

  /** Returns whether these bytes can be the start of a hello; lets strangers be cut off early. */
  public static boolean canStartWith(ByteBuffer bytes) {
    int count = Math.min(bytes.remaining(), MAGIC_BYTES);
    for (int i = 0; i < count; i++) {
      if (bytes.get(bytes.position() + i) != MAGIC[i]) {
        return false;
      }
    }
    return true;
  }

  /** Returns the link of the worker for which the connection is made; empty: the program's own. */
  public OptionalInt peerLink() {
    return link == null ? OptionalInt.empty() : OptionalInt.of(link);
  }

  /** Leaves the message out, which has keys. */
  @Override
  public String toString() {
    return "ClientHello[" + purpose + " " + session.brief() + "]";
  }

  /** Returns the bytes to send, with those of the message. */
  public byte[] encode() {
    byte[] following = message == null ? new byte[0] : message.encode();
    return ByteBuffer.allocate(BYTES + following.length)
        .order(ByteOrder.LITTLE_ENDIAN)
        .put(MAGIC)
        .putShort((short) versionMin)
        .putShort((short) versionMax)
        .putShort((short) purpose.ordinal())
        .putShort((short) peerLink().orElse(0))
        .put(session.bytes())
        .put(key.bytes())
        .put(following)
        .array();
  }

  /** Parses {@link #BYTES} bytes; a message that follows is not among them. */
  public static ClientHello decode(byte[] bytes) throws WireException {
    if (bytes.length != BYTES) {
      throw new WireException("handshake has " + bytes.length + " bytes instead of " + BYTES);
    }
    ByteBuffer buffer = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
    if (!canStartWith(buffer)) {
      throw new WireException("not a gpupool call stream (bad magic)");
    }
    int flags = Short.toUnsignedInt(buffer.getShort(FLAGS_OFFSET));
    int link = Short.toUnsignedInt(buffer.getShort(LINK_OFFSET));
    boolean isPeer = flags == Purpose.PEER.ordinal();
    if (flags >= Purpose.values().length || (isPeer ? link >= MAX_LINKS : link != 0)) {
      throw new WireException("handshake asks for features that this version does not know");
    }
    int min = Short.toUnsignedInt(buffer.getShort(VERSION_MIN_OFFSET));
    int max = Short.toUnsignedInt(buffer.getShort(VERSION_MAX_OFFSET));
    if (min > max) {
      throw new WireException("handshake offers versions " + min + " to " + max);
    }
    return new ClientHello(
        min,
        max,
        Purpose.values()[flags],
        isPeer ? link : null,
        SessionId.ofBytes(Arrays.copyOfRange(bytes, SESSION_OFFSET, KEY_OFFSET)),
        SessionKey.ofBytes(Arrays.copyOfRange(bytes, KEY_OFFSET, BYTES)),
        null);
  }
}
