// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.session;

import io.gpupool.runtime.Timers;
import io.gpupool.server.control.CoalescedTask;
import io.gpupool.server.lease.store.CommunicatorStore;
import io.gpupool.server.lease.store.CommunicatorStore.Name;
import io.gpupool.server.records.CommunicatorRank;
import io.gpupool.server.records.GangKey;
import io.gpupool.server.state.StateException;
import io.gpupool.server.stream.CallStream;
import io.gpupool.transport.Detaching;
import io.gpupool.wire.ClientHello;
import io.gpupool.wire.ServerHello;
import io.gpupool.wire.SessionKey;
import io.gpupool.wire.TextMessage;
import io.gpupool.wire.Versions;
import io.gpupool.wire.WireException;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.Executor;
import java.util.regex.Pattern;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The ranks of communicators that this server's sessions have, and their connections with ranks of
 * other sessions. A communicator's name in the pool is a digest of its tenant, its gang and its id,
 * so a rank of another tenant or of another gang is never in it. Owned by the control thread.
 */
final class CommunicatorRanks {
  private static final int MAX_RANKS = 4096;
  private static final int MAX_OF_SESSION = 256;
  private static final int ID_DIGITS = 64;
  private static final Pattern UNIQUE_ID = Pattern.compile("([0-9a-f]{256})?");
  private static final long EACH_MILLIS = 1000;
  private static final Logger LOG = LoggerFactory.getLogger(CommunicatorRanks.class);

  private final CommunicatorStore store;
  private final String server;
  private final WorkerDialer dialer;
  private final Timers timers;
  private final Executor control;
  private final SecureRandom random = new SecureRandom();
  private final Map<Name, Member> members = new HashMap<>();

  /** Ranks of this server that have left communicators which others may still have. */
  private final Set<Name> left = new HashSet<>();

  /**
   * A rank of a session of this server.
   *
   * @param id of the communicator, as the worker knows it
   */
  private record Member(Session session, String id, int rank, int ranks, Progress progress) {
    /** Tells the worker something of this rank. */
    TextMessage.Builder message(String what) {
      return TextMessage.ofType("rank").put("what", what).put("communicator", id).put("rank", rank);
    }

    void tell(TextMessage.Builder message) {
      if (session.isServed()) {
        session.worker().send(message.build());
      }
    }
  }

  /** What a worker has been told, and has asked for. */
  private static final class Progress {
    private boolean isComplete;
    private boolean isOver;
    private final Set<Integer> connected = new HashSet<>();
  }

  CommunicatorRanks(
      CommunicatorStore store,
      String server,
      WorkerDialer dialer,
      Timers timers,
      Executor control) {
    this.store = store;
    this.server = server;
    this.dialer = dialer;
    this.timers = timers;
    this.control = control;
  }

  /** Goes by the records from now on. */
  void start() {
    store.whenChanged(new CoalescedTask(control, timers, this::reconcile));
    control.execute(this::eachSecond);
  }

  private void eachSecond() {
    timers.after(EACH_MILLIS, this::eachSecond);
    if (!members.isEmpty() || !left.isEmpty()) {
      reconcile();
    }
  }

  /** Does what a worker asks for: {@code type=rank}. */
  void onMessage(Session session, TextMessage message) {
    try {
      String id = message.require("communicator");
      if (id.length() != ID_DIGITS) {
        throw new WireException("a communicator's id has " + ID_DIGITS + " hexadecimal digits");
      }
      Name name =
          new Name(poolName(session, id), (int) message.requireNumber("rank", MAX_RANKS - 1));
      switch (message.require("what")) {
        case "join" ->
            join(
                session,
                id,
                name,
                (int) message.requireNumber("ranks", MAX_RANKS),
                uniqueId(message));
        case "leave" -> leave(session, name, message.get("lost").isPresent());
        case "connect" -> connect(session, name, (int) message.requireNumber("to", MAX_RANKS - 1));
        default -> throw new WireException("an unknown question");
      }
    } catch (WireException e) {
      LOG.warn(
          "lease {} session {}: {}: {}",
          session.lease().id(),
          session.id().brief(),
          e.getMessage(),
          message);
    }
  }

  private static String uniqueId(TextMessage message) throws WireException {
    String id = message.get("id").orElse("");
    if (!UNIQUE_ID.matcher(id).matches()) {
      throw new WireException("an id of NCCL has 256 hexadecimal digits");
    }
    return id;
  }

  private void join(Session session, String id, Name name, int ranks, String uniqueId) {
    Member member = new Member(session, id, name.rank(), ranks, new Progress());
    long held = members.values().stream().filter(other -> other.session() == session).count();
    if (held >= MAX_OF_SESSION) {
      refuse(member, "the session has " + MAX_OF_SESSION + " ranks of communicators already");
      return;
    }
    CommunicatorRank rank =
        new CommunicatorRank(
            server, session.id(), ranks, SessionKey.random(random), false, uniqueId);
    try {
      if (!store.add(name, rank)) {
        refuse(
            member,
            "rank "
                + name.rank()
                + " is taken; each communicator needs an id of its own (ncclGetUniqueId), and each"
                + " of its ranks another number");
        return;
      }
    } catch (StateException e) {
      refuse(member, "the pool cannot record the rank: " + e.getMessage());
      return;
    }
    members.put(name, member);
    reconcile();
  }

  private static void refuse(Member member, String reason) {
    member.progress().isOver = true;
    member.tell(member.message("refused").put("reason", reason));
  }

  private void leave(Session session, Name name, boolean lost) {
    Member member = members.get(name);
    if (member == null || member.session() != session) {
      return;
    }
    members.remove(name);
    try {
      if (lost) {
        store.delete(name);
      } else {
        store.leave(name);
        left.add(name);
      }
    } catch (StateException e) {
      LOG.debug("the record of a rank goes with this server: {}", e.getMessage());
    }
    reconcile();
  }

  /** A session has ended: its ranks are lost to others. */
  void gone(Session session) {
    for (Map.Entry<Name, Member> member : List.copyOf(members.entrySet())) {
      if (member.getValue().session() == session) {
        leave(session, member.getKey(), true);
      }
    }
  }

  private void reconcile() {
    Map<String, Map<Integer, CommunicatorRank>> all = store.all();
    for (Map.Entry<Name, Member> member : List.copyOf(members.entrySet())) {
      Map<Integer, CommunicatorRank> ranks =
          all.getOrDefault(member.getKey().communicator(), Map.of());
      if (!member.getValue().progress().isOver) {
        check(member.getValue(), ranks);
      }
    }
    for (Name name : List.copyOf(left)) {
      Map<Integer, CommunicatorRank> ranks = all.getOrDefault(name.communicator(), Map.of());
      if (ranks.values().stream().allMatch(CommunicatorRank::hasLeft)) {
        left.remove(name);
        try {
          store.delete(name);
        } catch (StateException e) {
          left.add(name);
        }
      }
    }
  }

  /** Tells a worker what has become of the communicator. */
  private static void check(Member member, Map<Integer, CommunicatorRank> recorded) {
    Progress progress = member.progress();
    Optional<CommunicatorRank> other =
        recorded.values().stream().filter(rank -> rank.ranks() != member.ranks()).findAny();
    if (other.isPresent()) {
      refuse(
          member,
          "rank "
              + member.rank()
              + " says that the communicator has "
              + member.ranks()
              + " ranks, another that it has "
              + other.get().ranks());
      return;
    }
    List<Integer> missing = new ArrayList<>();
    for (int rank = 0; rank < member.ranks(); rank++) {
      if (!recorded.containsKey(rank)) {
        missing.add(rank);
      }
    }
    if (missing.isEmpty() && !progress.isComplete) {
      progress.isComplete = true;
      String uniqueId = Objects.requireNonNull(recorded.get(0)).uniqueId();
      member.tell(
          member.message("complete").putIfPresent("id", uniqueId.isEmpty() ? null : uniqueId));
    } else if (!missing.isEmpty() && progress.isComplete) {
      progress.isOver = true;
      member.tell(
          member
              .message("lost")
              .put("lost", missing.getFirst())
              .put("reason", "its program or its server has ended"));
    }
  }

  private void connect(Session session, Name name, int to) {
    Member member = members.get(name);
    if (member == null || member.session() != session) {
      return;
    }
    Name target = new Name(name.communicator(), to);
    Optional<CommunicatorRank> record = store.get(target);
    if (record.isEmpty() || !member.progress().connected.add(to)) {
      String reason = record.isEmpty() ? "it is not there" : "it has been connected already";
      member.tell(member.message("unconnected").put("to", to).put("reason", reason));
      return;
    }
    ClientHello hello =
        ClientHello.ofRank(
            Versions.CALL_STREAM_MIN,
            Versions.CALL_STREAM_MAX,
            record.get().session(),
            record.get().key(),
            TextMessage.ofType("rank")
                .put("communicator", name.communicator())
                .put("from", name.rank())
                .put("to", to)
                .build());
    dialer
        .dial(record.get().server(), hello)
        .whenComplete((stream, failure) ->
            control.execute(() -> {
              if (failure != null) {
                String reason = String.valueOf(ServerDialer.cause(failure).getMessage());
                member.tell(member.message("unconnected").put("to", to).put("reason", reason));
              } else if (session.isServed()) {
                session.worker().send(member.message("connected").put("to", to).build(), stream);
              } else {
                Detaching.closeQuietly(stream);
              }
            }));
  }

  /** Lets a connection in that another rank's server has made, and shows this rank's key. */
  void accept(ClientHello hello, CallStream stream, int version) {
    TextMessage message = Objects.requireNonNull(hello.message());
    Name name;
    int from;
    try {
      name =
          new Name(
              message.require("communicator"), (int) message.requireNumber("to", MAX_RANKS - 1));
      from = (int) message.requireNumber("from", MAX_RANKS - 1);
    } catch (WireException e) {
      stream.refuse(ServerHello.refused(ServerHello.BAD_HANDSHAKE, String.valueOf(e.getMessage())));
      return;
    }
    Member member = members.get(name);
    Optional<CommunicatorRank> record = store.get(name);
    boolean isProved = record.filter(rank -> rank.key().matches(hello.key())).isPresent();
    if (member == null || !isProved || !member.session().id().equals(hello.session())) {
      stream.refuse(
          ServerHello.refused(ServerHello.BAD_SESSION, "no such rank, or it has another key"));
      return;
    }
    stream
        .accept(ServerHello.accepted(version), true)
        .whenComplete((taken, failure) ->
            control.execute(() -> {
              if (failure != null) {
                LOG.info("the connection of rank {} broke: {}", from, failure.getMessage());
              } else if (member.session().isServed()) {
                TextMessage connection = member.message("connection").put("from", from).build();
                member.session().worker().send(connection, taken);
              } else {
                Detaching.closeQuietly(taken);
              }
            }));
  }

  /**
   * Returns the name of a session's communicator in the pool: never one of another tenant's, nor of
   * another gang's.
   */
  private static String poolName(Session session, String id) {
    try {
      MessageDigest digest = MessageDigest.getInstance("SHA-256");
      String gang = session.lease().gang().map(GangKey::name).orElse("");
      for (String part : List.of(session.lease().tenant(), gang, id)) {
        digest.update(part.getBytes(StandardCharsets.UTF_8));
        digest.update((byte) 0);
      }
      return HexFormat.of().formatHex(digest.digest());
    } catch (NoSuchAlgorithmException e) {
      throw new AssertionError(e);
    }
  }
}
