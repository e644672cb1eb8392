// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.google.protobuf.ByteString;
import io.gpupool.control.v1.Holder;
import io.gpupool.control.v1.Lease;
import io.gpupool.control.v1.LeaseEvent;
import io.gpupool.control.v1.LeaseRequest;
import io.gpupool.control.v1.OpenSessionReply;
import io.gpupool.control.v1.OpenSessionRequest;
import io.gpupool.control.v1.ReleaseLeaseRequest;
import io.gpupool.control.v1.ResumeSessionRequest;
import io.gpupool.cuda.AnswerKind;
import io.gpupool.cuda.ControlOp;
import io.gpupool.cuda.Ops;
import io.gpupool.wire.ClientHello;
import io.gpupool.wire.ServerHello;
import io.gpupool.wire.SessionId;
import io.gpupool.wire.SessionKey;
import io.gpupool.wire.WireException;
import io.grpc.StatusRuntimeException;
import java.io.EOFException;
import java.io.IOException;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Iterator;

/**
 * A program of the test's own, on a lease of its own: it speaks with the pool and its worker
 * itself, and can say what no shim would. Owned by the test's thread.
 */
final class RawProgram implements AutoCloseable {
  private static final int CONTEXT = 1;
  private static final int HEADER_BYTES = 16;
  private static final int PATIENCE_MILLIS = 60_000;

  private final Pool pool;
  private final Lease lease;
  private final OpenSessionReply session;

  /** Held as long as it is read from. */
  private final Iterator<LeaseEvent> events;

  private Socket socket;
  private int lastTag;

  /** The position of the answers that have come. */
  private long received;

  record Answer(int kind, int tag, int result, byte[] payload) {
    String text() {
      return new String(payload, UTF_8).strip().replace("\0", "");
    }

    long firstWord() {
      return ByteBuffer.wrap(payload).order(ByteOrder.LITTLE_ENDIAN).getLong();
    }
  }

  private RawProgram(Pool pool, long windowMillis) {
    this.pool = pool;
    events =
        pool.stub()
            .requestLease(
                LeaseRequest.newBuilder()
                    .setFraction(0.25)
                    .setResumeWindowMillis(windowMillis)
                    .setHolder(Holder.newBuilder().setPid(1).setProgram("raw"))
                    .build());
    lease = events.next().getGranted();
    session =
        pool.stub()
            .openSession(
                OpenSessionRequest.newBuilder()
                    .setLeaseId(lease.getId())
                    .setSecret(lease.getSecret())
                    .build());
  }

  /** Opens a session, whose first context exists. */
  static RawProgram start(Pool pool, long windowMillis) throws IOException {
    RawProgram program = new RawProgram(pool, windowMillis);
    ServerHello answer = program.connect(program.firstHello());
    if (!answer.isAccepted()) {
      throw new AssertionError("not accepted: " + answer);
    }
    if (program.next().kind() != AnswerKind.WELCOME) {
      throw new AssertionError("no welcome");
    }
    program.call(Ops.ctxRetainPrimary, 0, 0);
    return program;
  }

  ClientHello firstHello() {
    return new ClientHello(1, 1, id(), key(session.getSessionKey().toByteArray()));
  }

  ClientHello resumingHello(byte[] resumeKey) {
    return ClientHello.resuming(1, 1, id(), key(resumeKey));
  }

  private SessionId id() {
    try {
      return SessionId.ofBytes(session.getSessionId().toByteArray());
    } catch (WireException e) {
      throw new AssertionError(e);
    }
  }

  private static SessionKey key(byte[] bytes) {
    try {
      return SessionKey.ofBytes(bytes);
    } catch (WireException e) {
      throw new AssertionError(e);
    }
  }

  /** The key to another connection, asked for with a key of the session. */
  byte[] resumeKey(ByteString sessionKey) throws StatusRuntimeException {
    return pool.stub()
        .resumeSession(
            ResumeSessionRequest.newBuilder()
                .setSessionId(session.getSessionId())
                .setSessionKey(sessionKey)
                .build())
        .getResumeKey()
        .toByteArray();
  }

  byte[] resumeKey() throws StatusRuntimeException {
    return resumeKey(session.getSessionKey());
  }

  String hexId() {
    return java.util.HexFormat.of().formatHex(session.getSessionId().toByteArray());
  }

  String leaseId() {
    return lease.getId();
  }

  long received() {
    return received;
  }

  /** Opens a connection, which becomes the program's if it is accepted. */
  ServerHello connect(ClientHello hello) throws IOException {
    Socket opened = new Socket("127.0.0.1", pool.dataPort());
    opened.setSoTimeout(PATIENCE_MILLIS);
    opened.setTcpNoDelay(true);
    opened.getOutputStream().write(hello.encode());
    ServerHello answer = answerTo(opened);
    if (!answer.isAccepted()) {
      opened.close();
      return answer;
    }
    if (socket != null) {
      socket.close();
    }
    socket = opened;
    return answer;
  }

  private static ServerHello answerTo(Socket opened) throws IOException {
    byte[] header = opened.getInputStream().readNBytes(ServerHello.HEADER_BYTES);
    try {
      byte[] text = opened.getInputStream().readNBytes(ServerHello.textBytes(header));
      return ServerHello.decode(
          ByteBuffer.allocate(header.length + text.length).put(header).put(text).array());
    } catch (WireException e) {
      throw new IOException(e);
    }
  }

  /** Resumes as a shim would. */
  void resume() throws IOException {
    ServerHello answer = connect(resumingHello(resumeKey()));
    if (!answer.isAccepted()) {
      throw new AssertionError("not accepted: " + answer);
    }
    send(resumeFrame(received));
    if (next().kind() != AnswerKind.RESUMED) {
      throw new AssertionError("not resumed");
    }
  }

  /** Breaks the connection. */
  void cut() throws IOException {
    socket.close();
  }

  Socket socket() {
    return socket;
  }

  /** Executes a call. Returns its reply. */
  Answer call(int op, Object... fields) throws IOException {
    send(ask(op, fields));
    while (true) {
      Answer answer = next();
      if (answer.kind() == AnswerKind.FATAL) {
        throw new IOException("the session has ended: " + answer.text());
      }
      if (answer.kind() == AnswerKind.REPLY && answer.tag() == lastTag) {
        return answer;
      }
    }
  }

  /** The next fenced request. */
  byte[] ask(int op, Object... fields) {
    return frame(op, ++lastTag, fields);
  }

  static byte[] post(int op, Object... fields) {
    return frame(op, 0, fields);
  }

  static byte[] acknowledgement(long received, boolean wanted) {
    return control(ControlOp.ACKNOWLEDGE, 24).putLong(received).putInt(wanted ? 1 : 0).array();
  }

  static byte[] resumeFrame(long received) {
    return control(ControlOp.RESUME, 16).putLong(received).array();
  }

  private static ByteBuffer control(int op, int lengthBytes) {
    return ByteBuffer.allocate(lengthBytes)
        .order(ByteOrder.LITTLE_ENDIAN)
        .putInt(lengthBytes)
        .putShort((short) op)
        .putShort((short) 0);
  }

  private static byte[] frame(int op, int tag, Object... fields) {
    int length = 8 + (tag == 0 ? 0 : 8) + 8 * fields.length;
    for (Object field : fields) {
      length += field instanceof byte[] bytes ? (bytes.length + 7) & -8 : 0;
    }
    ByteBuffer frame = ByteBuffer.allocate(length).order(ByteOrder.LITTLE_ENDIAN);
    frame.putInt(length).putShort((short) op).putShort((short) CONTEXT);
    if (tag != 0) {
      frame.putInt(tag).putInt(0);
    }
    for (Object field : fields) {
      frame.putLong(field instanceof byte[] bytes ? bytes.length : ((Number) field).longValue());
    }
    for (Object field : fields) {
      if (field instanceof byte[] bytes) {
        frame.put(bytes).position((frame.position() + 7) & -8);
      }
    }
    return frame.array();
  }

  void send(byte[] bytes) throws IOException {
    socket.getOutputStream().write(bytes);
  }

  /** Reads the next answer. */
  Answer next() throws IOException {
    ByteBuffer header = ByteBuffer.wrap(read(HEADER_BYTES)).order(ByteOrder.LITTLE_ENDIAN);
    int length = header.getInt();
    int kind = header.getShort();
    header.getShort();
    int tag = header.getInt();
    if (kind != AnswerKind.ACK && kind != AnswerKind.RESUMED) {
      received += length;
    }
    return new Answer(kind, tag, header.getInt(), read(length - HEADER_BYTES));
  }

  private byte[] read(int lengthBytes) throws IOException {
    byte[] bytes = socket.getInputStream().readNBytes(lengthBytes);
    if (bytes.length < lengthBytes) {
      throw new EOFException("the connection has ended");
    }
    return bytes;
  }

  /** Reads up to the reason for which the worker ends the session. */
  String fatal() throws IOException {
    while (true) {
      Answer answer = next();
      if (answer.kind() == AnswerKind.FATAL) {
        return answer.text();
      }
    }
  }

  @Override
  public void close() {
    try {
      socket.close();
    } catch (IOException e) {
      // It is closed for certain.
    }
    var ignored =
        pool.stub()
            .releaseLease(
                ReleaseLeaseRequest.newBuilder()
                    .setLeaseId(lease.getId())
                    .setSecret(lease.getSecret())
                    .build());
  }
}
