// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.command;

import io.gpupool.client.lease.LeaseOptions;
import io.gpupool.server.command.notice.Cloud;
import io.gpupool.server.command.notice.FileNotices;
import io.gpupool.server.command.notice.NoticeSource;
import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** The options that say how a server ends, and what tells it that its machine does. */
final class EndServerOptions {
  @Option(
      names = "--drain-limit",
      paramLabel = "DURATION",
      description = {
        "how long leases may go on when the server is told to end (SIGTERM), which it does once"
            + " none",
        "is left; a second signal ends it at once (default: with --state it ends at once and",
        "leaves them to the next process of the server, else 5s)"
      })
  private @Nullable String limit;

  @Option(
      names = "--drain-notice",
      paramLabel = "FILE",
      description = {
        "as soon as FILE is there, grant nothing more: who knows that this machine is about to be",
        "taken away leaves it there. Leases go on until the server is told to end"
      })
  private @Nullable Path file;

  @Option(
      names = "--spot-notice",
      paramLabel = "aws|gcp|azure",
      description = {
        "ask the metadata service of this cloud whether it takes this machine away: then grant"
            + " nothing",
        "more, end the leases that are left shortly before the machine goes, and end"
      })
  private @Nullable Cloud cloud;

  @Option(
      names = "--spot-notice-url",
      paramLabel = "URL",
      defaultValue = Cloud.SERVICE,
      description = "the address of that service (default: ${DEFAULT-VALUE})")
  @SuppressWarnings("NullAway.Init") // has a default value
  private URI service;

  @Option(
      names = "--drain-move",
      description = {
        "with --drain-limit, --drain-notice or --spot-notice: move the leases that can move to"
            + " other",
        "servers of the pool meanwhile"
      })
  private boolean move;

  /** Returns how long leases may go on; empty: it is not said. */
  Optional<Duration> limit() {
    return Optional.ofNullable(limit).map(LeaseOptions::duration);
  }

  boolean move() {
    return move;
  }

  Optional<NoticeSource> file() {
    return Optional.ofNullable(file).map(FileNotices::new);
  }

  /**
   * Returns the notices of the cloud; empty: there is none.
   *
   * @throws IllegalArgumentException if the address is none of an HTTP service
   */
  Optional<NoticeSource> cloud() {
    if (!"http".equals(service.getScheme())
        || service.getHost() == null
        || !service.getRawPath().isEmpty()
        || service.getRawQuery() != null
        || service.getRawFragment() != null) {
      throw new IllegalArgumentException(
          "--spot-notice-url " + service + ": give http://HOST[:PORT], and no path");
    }
    return Optional.ofNullable(cloud).map(chosen -> chosen.notices(service));
  }
}
