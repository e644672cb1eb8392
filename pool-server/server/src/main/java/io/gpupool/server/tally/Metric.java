// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.tally;

import java.util.List;

/** What a server counts since its start. */
public enum Metric {
  LEASES_GRANTED("gpupool_leases_granted", "Leases granted", "tenant"),
  LEASES_ENDED("gpupool_leases_ended", "Leases ended, by what ended them", "tenant", "reason"),
  REQUESTS_QUEUED("gpupool_requests_queued", "Requests for leases that had to wait", "tenant"),
  REQUESTS_REFUSED("gpupool_requests_refused", "Requests that came to nothing", "tenant", "cause"),
  SESSIONS_OPENED("gpupool_sessions_opened", "Sessions of programs", "tenant"),
  SESSIONS_REFUSED("gpupool_sessions_refused", "Sessions refused at a limit", "tenant"),
  SESSION_CALLS("gpupool_session_calls", "CUDA calls of programs", "tenant", "class"),
  RECEIVED_BYTES("gpupool_session_received_bytes", "From programs", "tenant"),
  SENT_BYTES("gpupool_session_sent_bytes", "To programs", "tenant"),
  PEER_RECEIVED_BYTES(
      "gpupool_session_peer_received_bytes", "From programs' GPUs at other servers", "tenant"),
  PEER_SENT_BYTES(
      "gpupool_session_peer_sent_bytes", "To programs' GPUs at other servers", "tenant"),
  MEMORY_REFUSED(
      "gpupool_session_memory_refused", "Allocations beyond the memory of a lease", "tenant"),
  GRANTED_NANOS(
      "gpupool_lease_granted_seconds",
      "What the shares of leases come to of a GPU's time",
      "tenant",
      "server",
      "gpu"),
  GPU_NANOS(
      "gpupool_lease_gpu_seconds", "Time in which a GPU was a lease's", "tenant", "server", "gpu"),
  WAITED_NANOS(
      "gpupool_lease_waited_seconds",
      "Time in which a lease had work and waited for its turn",
      "tenant",
      "server",
      "gpu"),
  THROTTLED_NANOS(
      "gpupool_lease_throttled_seconds",
      "Of that, time in which the GPU was free and only the limit of a hard share kept it away",
      "tenant",
      "server",
      "gpu"),
  WORKERS_STARTED("gpupool_workers_started", "Worker processes started", "server"),
  WORKERS_FAILED("gpupool_workers_failed", "Worker processes that never reported", "server"),
  STATE_COMMITS("gpupool_state_commits", "Changes of the pool's state written down", "server"),
  STATE_CONFLICTS("gpupool_state_conflicts", "Changes repeated as another came first", "server"),
  STATE_FAILURES("gpupool_state_failures", "Changes that could not be written", "server");

  private static final double NANOS_PER_SECOND = 1e9;

  private final String metric;
  private final String help;
  private final List<String> labels;

  Metric(String metric, String help, String... labels) {
    this.metric = metric;
    this.help = help;
    this.labels = List.of(labels);
  }

  /** Its name, without the ending that counters have. */
  public String metric() {
    return metric;
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
    return metric.endsWith("_seconds") ? amount / NANOS_PER_SECOND : amount;
  }
}
