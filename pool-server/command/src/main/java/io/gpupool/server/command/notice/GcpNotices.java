// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.command.notice;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.net.URLEncoder;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The notice of preemption that a spot instance of Google Compute Engine finds in its metadata
 * service, 30 seconds ahead. The service answers as soon as the value changes.
 */
final class GcpNotices implements NoticeSource {
  private static final String PREEMPTED = "/computeMetadata/v1/instance/preempted";
  private static final String FLAVOR = "Metadata-Flavor";
  private static final String GOOGLE = "Google";
  private static final Duration AHEAD = Duration.ofSeconds(30);
  private static final Duration WAIT = Duration.ofSeconds(60);
  private static final Duration PAUSE = Duration.ofSeconds(1);

  private final MetadataService service;
  private final InstantSource clock;

  /** Of the latest value; null: none is known. */
  private @Nullable String etag;

  GcpNotices(MetadataService service, InstantSource clock) {
    this.service = service;
    this.clock = clock;
  }

  @Override
  public Optional<Notice> look() throws IOException, InterruptedException {
    HttpResponse<String> answer = ask();
    String value = MetadataService.text(answer).strip();
    if (!answer.headers().firstValue(FLAVOR).filter(GOOGLE::equals).isPresent()) {
      throw new IOException(answer.uri() + " is not Google's: its answer has no " + FLAVOR);
    }
    etag = answer.headers().firstValue("ETag").orElse(null);
    return switch (value) {
      case "FALSE" -> Optional.empty();
      case "TRUE" -> {
        Instant at = clock.instant().plus(AHEAD);
        yield Optional.of(new Notice("Google has announced the preemption of this instance", at));
      }
      default -> throw new IOException(answer.uri() + " says neither TRUE nor FALSE");
    };
  }

  private HttpResponse<String> ask() throws IOException, InterruptedException {
    if (etag == null) {
      return service.get(PREEMPTED, FLAVOR, GOOGLE, MetadataService.PATIENCE);
    }
    String waiting =
        "?wait_for_change=true&timeout_sec="
            + WAIT.toSeconds()
            + "&last_etag="
            + URLEncoder.encode(etag, UTF_8);
    // What has not answered may have forgotten this value.
    etag = null;
    return service.get(PREEMPTED + waiting, FLAVOR, GOOGLE, WAIT.plus(MetadataService.PATIENCE));
  }

  @Override
  public Duration pause() {
    return PAUSE;
  }
}
