// SPDX-License-Identifier: Apache-2.0
package io.gpupool.agent.lease;

import io.gpupool.agent.options.AgentOptions;
import io.gpupool.client.StreamAbilities;
import io.gpupool.client.connection.PoolAddress;
import io.gpupool.client.connection.PoolRequestException;
import io.gpupool.client.lease.HeldLease;
import io.gpupool.client.lease.LeaseOptions;
import io.gpupool.control.v1.Holder;
import io.gpupool.runtime.ProcessInfo;
import io.gpupool.wire.DriverEnvironment;
import io.gpupool.wire.TextMessage;
import io.gpupool.wire.Versions;
import io.gpupool.wire.WireException;
import io.netty.channel.unix.PeerCredentials;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * The request of a shim.
 *
 * @param shim which asks
 * @param ticket the lease it was given; null: none
 * @param token the token that the program brings; null: none
 * @param pool the pool that the program names; null: none
 * @param ownLease the lease that an agent held for it before, which is gone; null: none
 * @param driverEnvironment what of the program's environment the driver of its GPUs reads
 */
public record AttachRequest(
    Shim shim,
    @Nullable LeaseHandle ticket,
    LeaseOptions wish,
    @Nullable String token,
    @Nullable PoolAddress pool,
    @Nullable FormerLease ownLease,
    Map<String, String> driverEnvironment) {
  /** The type of a message that asks for one more call stream of a session. */
  public static final String RESUME = "resume";

  /** The type of a message by which a program that has sessions shows that it lives. */
  public static final String HOLD = "hold";

  /** The key of a program's window, in seconds: {@code resume_window} is what it asked for. */
  public static final String WINDOW = "window";

  /** The longest window that a lease can have. */
  private static final long MAX_WINDOW_SECONDS = 3600;

  private static final Set<String> TYPES = Set.of("attach", "nvml", RESUME, HOLD);

  public AttachRequest {
    driverEnvironment = Map.copyOf(driverEnvironment);
  }

  /**
   * The shim in a program.
   *
   * @param pid of the program, in its own namespace
   * @param abilities on call streams
   */
  public record Shim(int pid, String program, StreamAbilities abilities) {}

  /**
   * A lease that somebody else holds.
   *
   * @param secret empty for those of the program's own pod
   */
  public record LeaseHandle(String leaseId, String secret) {
    private static final String OF_POD = "pod/";

    /** The one lease that the program's pod has. */
    static final LeaseHandle ONLY_OF_POD = new LeaseHandle(OF_POD, "");

    public static LeaseHandle parse(String text) {
      if (text.startsWith(OF_POD)) {
        return new LeaseHandle(text, "");
      }
      int dot = text.indexOf('.');
      if (dot <= 0 || dot == text.length() - 1) {
        throw new PoolRequestException(
            PoolRequestException.Cause.REFUSED, "GPUPOOL_LEASE is not ID.SECRET; was it cut off?");
      }
      return new LeaseHandle(text.substring(0, dot), text.substring(dot + 1));
    }

    /** Returns the form in which programs get it. */
    public String text() {
      return leaseId + "." + secret;
    }

    public static LeaseHandle of(HeldLease held) {
      return new LeaseHandle(held.lease().getId(), held.lease().getSecret());
    }
  }

  /**
   * A lease that an agent held for the program before.
   *
   * @param resumeWindow for how long the pool waits for a holder
   */
  public record FormerLease(LeaseHandle handle, Duration resumeWindow) {
    private static @Nullable FormerLease of(TextMessage message) {
      String ticket = message.get("ticket").orElse(null);
      if (ticket == null) {
        return null;
      }
      // A program that reads NVML does not know its lease's window.
      Duration window =
          message.get(WINDOW).isPresent()
              ? window(message, WINDOW)
              : Duration.ofSeconds(MAX_WINDOW_SECONDS);
      return new FormerLease(LeaseHandle.parse(ticket), window);
    }
  }

  /**
   * Reads a window, which the message has in seconds.
   *
   * @throws PoolRequestException if it is missing, no number, or too long
   */
  public static Duration window(TextMessage message, String key) {
    try {
      return Duration.ofSeconds(message.requireNumber(key, MAX_WINDOW_SECONDS));
    } catch (WireException e) {
      throw new PoolRequestException(
          PoolRequestException.Cause.PROTOCOL, "the shim's request is wrong: " + e.getMessage());
    }
  }

  /**
   * The pool that the program names, or else the agent's.
   *
   * @throws PoolRequestException if there is neither
   */
  PoolAddress pool(AgentOptions options) {
    return Optional.ofNullable(pool == null ? options.pool() : pool)
        .orElseThrow(() ->
            new PoolRequestException(
                PoolRequestException.Cause.UNREACHABLE,
                "no pool is configured: set GPUPOOL_POOL=HOST or start the agent with --pool"
                    + " HOST"));
  }

  /** The program as the pool is told of it. */
  public Holder holder(PeerCredentials peer) {
    return Holder.newBuilder()
        .setHost(ProcessInfo.HOST)
        .setPid(peer.pid() > 0 ? peer.pid() : shim.pid())
        .setProgram(shim.program())
        .setUser(ProcessInfo.user(peer.uid()))
        .build();
  }

  /**
   * Reads an attach message, or a resume or hold message or the first of NVML's questions, which
   * say the same of the program.
   *
   * @throws PoolRequestException if it is something else, or a value has the wrong form
   */
  public static AttachRequest of(TextMessage message) {
    if (!TYPES.contains(message.type())) {
      throw new PoolRequestException(
          PoolRequestException.Cause.PROTOCOL,
          "the agent knows attach, resume, hold, nvml and status only");
    }
    String protocol = message.get("protocol").orElse("");
    if (!protocol.equals(Integer.toString(Versions.LOCAL_PROTOCOL))) {
      throw new PoolRequestException(
          PoolRequestException.Cause.PROTOCOL,
          "the shim speaks protocol "
              + (protocol.isEmpty() ? "of an unknown version" : protocol)
              + ", this agent "
              + Versions.LOCAL_PROTOCOL
              + "; install the same gpupool version for both");
    }
    try {
      return new AttachRequest(
          new Shim(
              Integer.parseInt(message.get("pid").orElse("0")),
              message.get("program").orElse(""),
              abilities(message)),
          message.get("lease").map(LeaseHandle::parse).orElse(null),
          message.type().equals(RESUME) ? LeaseOptions.NOTHING : LeaseOptions.from(message::get),
          message.get("token").orElse(null),
          message.get("pool").map(PoolAddress::parse).orElse(null),
          FormerLease.of(message),
          driverEnvironment(message));
    } catch (NumberFormatException e) {
      throw new PoolRequestException(
          PoolRequestException.Cause.PROTOCOL, "the shim's pid is no number");
    } catch (IllegalArgumentException e) {
      throw new PoolRequestException(
          PoolRequestException.Cause.REFUSED, String.valueOf(e.getMessage()));
    }
  }

  /** Reads what a shim can do with its call streams; an older one says less. */
  public static StreamAbilities abilities(TextMessage message) {
    return new StreamAbilities(
        message.get("seals").filter("1"::equals).isPresent(),
        message.get("shares").filter("1"::equals).isPresent());
  }

  /** The server checks the values, since it is asked by more than this agent. */
  private static Map<String, String> driverEnvironment(TextMessage message) {
    Map<String, String> variables = new TreeMap<>();
    DriverEnvironment.names()
        .forEach(name -> message.get(name).ifPresent(value -> variables.put(name, value)));
    return variables;
  }
}
