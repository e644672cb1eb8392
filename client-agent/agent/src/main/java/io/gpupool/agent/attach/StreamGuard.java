// SPDX-License-Identifier: Apache-2.0
package io.gpupool.agent.attach;

import io.gpupool.transport.TextMessageDecoder;
import io.gpupool.wire.SessionId;
import io.gpupool.wire.TextMessage;
import io.netty.channel.Channel;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A guard of the call streams that one program has now. It ends them under the program when the
 * lease has ended or a server is silent; a stream that can be resumed just breaks then. Runs on the
 * program's event loop.
 */
final class StreamGuard {
  private static final Logger LOG = LoggerFactory.getLogger(StreamGuard.class);

  private final Channel program;
  private final boolean tells;
  private final StreamGuards guards;
  private final Map<SessionId, GuardedStream> streams = new LinkedHashMap<>();

  /** The sessions whose streams come here, also while one has none. */
  private final Set<SessionId> sessions = new LinkedHashSet<>();

  private final ScheduledFuture<?> looking;
  private boolean ended;

  /**
   * Guards no stream yet.
   *
   * @param tells whether the program can hear a message on its channel
   */
  StreamGuard(Channel program, boolean tells, StreamGuards guards) {
    this.program = program;
    this.tells = tells;
    this.guards = guards;
    looking = program.eventLoop().scheduleAtFixedRate(this::check, 1, 1, TimeUnit.SECONDS);
  }

  /** Guards the streams that this session will have; it has none that is known here. */
  void expect(SessionId session) {
    sessions.add(session);
    guards.add(session, this);
  }

  /** Guards a stream, in place of the former one of its session. */
  void add(SessionId session, GuardedStream stream) {
    sessions.add(session);
    GuardedStream former = streams.put(session, stream);
    if (former != null) {
      breakOff(former);
    }
    if (stream.isResumable()) {
      guards.add(session, this);
    }
    if (ended) {
      stream.shutdown();
    }
  }

  /** Ends all streams, for this reason, which the program hears if it can hear it. */
  void end(String reason) {
    if (ended) {
      return;
    }
    ended = true;
    LOG.warn("sessions {}: {}", sessions.stream().map(SessionId::brief).toList(), reason);
    if (tells) {
      // First the reason: the program looks for it when its stream has ended.
      TextMessage said =
          TextMessage.ofType("ended").put("message", reason.replace('\n', ' ')).build();
      program
          .writeAndFlush(TextMessageDecoder.encode(said))
          .addListener(told -> streams.values().forEach(GuardedStream::shutdown));
    } else {
      streams.values().forEach(GuardedStream::shutdown);
    }
  }

  /** Lets go of the streams; the program has left. */
  void close() {
    ended = true;
    looking.cancel(false);
    streams.values().forEach(GuardedStream::close);
    sessions.forEach(session -> guards.remove(session, this));
    streams.clear();
  }

  private void check() {
    long nowNanos = System.nanoTime();
    Iterator<Map.Entry<SessionId, GuardedStream>> all = streams.entrySet().iterator();
    while (all.hasNext()) {
      Map.Entry<SessionId, GuardedStream> entry = all.next();
      GuardedStream stream = entry.getValue();
      if (!stream.isSilent(nowNanos)) {
        continue;
      }
      if (!stream.isResumable()) {
        end(stream.silenceText() + "; is it running, and is its port open?");
        return;
      }
      LOG.warn(
          "session {}: {}; its call stream ends", entry.getKey().brief(), stream.silenceText());
      breakOff(stream);
      all.remove();
    }
  }

  private static void breakOff(GuardedStream stream) {
    stream.shutdown();
    stream.close();
  }
}
