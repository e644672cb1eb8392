// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.session;

import com.google.protobuf.ByteString;
import com.google.protobuf.InvalidProtocolBufferException;
import io.gpupool.control.state.v1.MovingSessionRecord;
import io.gpupool.runtime.Timers;
import io.gpupool.server.identity.HolderName;
import io.gpupool.server.identity.SessionKeys;
import io.gpupool.server.lease.lifecycle.Lease;
import io.gpupool.server.placement.LeaseId;
import io.gpupool.server.takeover.PrincipalForm;
import io.gpupool.wire.DriverEnvironment;
import io.gpupool.wire.SessionId;
import io.gpupool.wire.SessionKey;
import io.gpupool.wire.TextMessage;
import io.gpupool.wire.WireException;
import java.util.HexFormat;
import java.util.concurrent.TimeUnit;

/**
 * A session that moves, as its server tells the other one.
 *
 * @param move id of the move
 * @param openedAtMillis since 1970
 */
record MovingSession(
    LeaseId lease, String move, SessionKeys keys, SessionProgram program, long openedAtMillis) {
  /** A session of this server. */
  static MovingSession of(Session session, String move, Timers timers) {
    long ageNanos = timers.nowNanos() - session.openedAtNanos();
    return new MovingSession(
        session.lease().id(),
        move,
        session.keys(),
        session.program(),
        timers.wallMillis() - TimeUnit.NANOSECONDS.toMillis(ageNanos));
  }

  /** Its past on its new GPU, of which its lease has had nothing before. */
  SessionPast past(Lease to, Timers timers) {
    long ageMillis = Math.max(0, timers.wallMillis() - openedAtMillis);
    long nowNanos = timers.nowNanos();
    return new SessionPast(
        nowNanos - TimeUnit.MILLISECONDS.toNanos(ageMillis),
        SessionPast.none(to, nowNanos).grantedBefore());
  }

  TextMessage message() {
    MovingSessionRecord record =
        MovingSessionRecord.newBuilder()
            .setSessionId(ByteString.copyFrom(keys.id().bytes()))
            .setSessionKey(ByteString.copyFrom(keys.key().bytes()))
            .setPeerKey(ByteString.copyFrom(keys.peerKey().bytes()))
            .setClientHost(program.name().host())
            .setClientPid(program.name().pid())
            .setClientProgram(program.name().program())
            .setClientUser(program.name().user())
            .setPrincipal(PrincipalForm.write(program.principal()))
            .setOpenedAtMillis(openedAtMillis)
            .setDriverEnvironment(program.environment().text())
            .build();
    return TextMessage.ofType("moving")
        .put("move", move)
        .put("lease", lease.text())
        .put("session", HexFormat.of().formatHex(record.toByteArray()))
        .build();
  }

  /**
   * Reads the message of another server.
   *
   * @throws WireException if it has another form
   */
  static MovingSession of(TextMessage message) throws WireException {
    MovingSessionRecord record;
    try {
      record = MovingSessionRecord.parseFrom(HexFormat.of().parseHex(message.require("session")));
    } catch (InvalidProtocolBufferException | IllegalArgumentException e) {
      throw new WireException("what it says of the session cannot be read: " + e.getMessage());
    }
    return new MovingSession(
        new LeaseId(message.require("lease")),
        message.require("move"),
        new SessionKeys(
            SessionId.ofBytes(record.getSessionId().toByteArray()),
            SessionKey.ofBytes(record.getSessionKey().toByteArray()),
            SessionKey.ofBytes(record.getPeerKey().toByteArray())),
        new SessionProgram(
            new HolderName(
                record.getClientHost(),
                record.getClientPid(),
                record.getClientProgram(),
                record.getClientUser()),
            DriverEnvironment.parse(record.getDriverEnvironment()),
            PrincipalForm.read(record.getPrincipal())),
        record.getOpenedAtMillis());
  }
}
