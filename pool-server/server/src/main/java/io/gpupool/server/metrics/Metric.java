// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.metrics;

import java.util.List;

/** A counter of a server, from its start on. */
public enum Metric {
  LEASES_GRANTED("gpupool.leases.granted", "", "Leases granted", "tenant"),
  LEASES_ENDED("gpupool.leases.ended", "", "Leases ended, by what ended them", "tenant", "reason"),
  MOVES(
      "gpupool.moves",
      "",
      "Moves of leases away from this server's GPUs, by what came of them",
      "tenant",
      "result"),
  SUSPENSIONS(
      "gpupool.suspensions",
      "",
      "Suspensions and resumptions of leases on this server's GPUs, by what came of them",
      "tenant",
      "result"),
  REQUESTS_QUEUED("gpupool.requests.queued", "", "Requests for leases that had to wait", "tenant"),
  REQUESTS_REFUSED(
      "gpupool.requests.refused", "", "Requests that came to nothing", "tenant", "cause"),
  SESSIONS_OPENED("gpupool.sessions.opened", "", "Sessions of programs", "tenant"),
  SESSIONS_REFUSED("gpupool.sessions.refused", "", "Sessions refused at a limit", "tenant"),
  SESSION_DISCONNECTS(
      "gpupool.session.disconnects", "", "Connections of programs lost, to be resumed", "tenant"),
  SESSION_RESUMES(
      "gpupool.session.resumes", "", "Sessions resumed on another connection", "tenant"),
  SESSION_CALLS("gpupool.session.calls", "", "CUDA calls of programs", "tenant", "class"),
  RECEIVED_BYTES("gpupool.session.received", "bytes", "From programs", "tenant"),
  SENT_BYTES("gpupool.session.sent", "bytes", "To programs", "tenant"),
  PEER_RECEIVED_BYTES(
      "gpupool.session.peer.received", "bytes", "From programs' GPUs at other servers", "tenant"),
  PEER_SENT_BYTES(
      "gpupool.session.peer.sent", "bytes", "To programs' GPUs at other servers", "tenant"),
  SESSIONS_TAKEN_OVER(
      "gpupool.sessions.taken_over",
      "",
      "Sessions that a restarted server took over from its former process",
      "tenant"),
  MEMORY_REFUSED(
      "gpupool.session.memory.refused", "", "Allocations beyond the memory of a lease", "tenant"),
  GRANTED_NANOS(
      "gpupool.lease.granted",
      "seconds",
      "What the shares of leases come to of a GPU's time",
      "tenant",
      "server",
      "gpu"),
  GPU_NANOS(
      "gpupool.lease.gpu",
      "seconds",
      "Time in which a GPU was a lease's",
      "tenant",
      "server",
      "gpu"),
  WAITED_NANOS(
      "gpupool.lease.waited",
      "seconds",
      "Time in which a lease had work and waited for its time slice",
      "tenant",
      "server",
      "gpu"),
  THROTTLED_NANOS(
      "gpupool.lease.throttled",
      "seconds",
      "Of that, time in which the GPU was free and only the limit of a hard share kept it away",
      "tenant",
      "server",
      "gpu"),
  WORKERS_STARTED("gpupool.workers.started", "", "Worker processes started", "server"),
  WORKERS_FAILED("gpupool.workers.failed", "", "Worker processes that never reported", "server"),
  STATE_COMMITS("gpupool.state.commits", "", "Changes of the pool's state written down", "server"),
  STATE_CONFLICTS(
      "gpupool.state.conflicts", "", "Changes repeated as another came first", "server"),
  STATE_FAILURES("gpupool.state.failures", "", "Changes that could not be written", "server");

  private static final double NANOS_PER_SECOND = 1e9;

  private final String meter;
  private final String unit;
  private final String help;
  private final List<String> labels;

  Metric(String meter, String unit, String help, String... labels) {
    this.meter = meter;
    this.unit = unit;
    this.help = help;
    this.labels = List.of(labels);
  }

  /** Its name as Micrometer writes it, without unit. */
  public String meter() {
    return meter;
  }

  /** Its base unit; empty: it is a number of things. */
  public String unit() {
    return unit;
  }

  public String help() {
    return help;
  }

  public List<String> labels() {
    return labels;
  }

  /** Whether it is known by tenant, the first of the labels. */
  public boolean isByTenant() {
    return labels.getFirst().equals("tenant");
  }

  /** An amount of it in the unit of its name. */
  public double inUnit(long amount) {
    return unit.equals("seconds") ? amount / NANOS_PER_SECOND : amount;
  }
}
