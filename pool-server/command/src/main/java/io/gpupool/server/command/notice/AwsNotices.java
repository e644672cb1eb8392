// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.command.notice;

import com.google.gson.JsonObject;
import java.io.IOException;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.time.Instant;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The notices of interruption that a spot instance of Amazon EC2 finds in version 2 of its metadata
 * service, two minutes ahead. AWS recommends to look every five seconds.
 */
final class AwsNotices implements NoticeSource {
  private static final String TOKEN = "/latest/api/token";
  private static final String TOKEN_LIFE = "X-aws-ec2-metadata-token-ttl-seconds";
  private static final String TOKEN_LIFE_SECONDS = "21600";
  private static final String TOKEN_HEADER = "X-aws-ec2-metadata-token";
  private static final String ACTION = "/latest/meta-data/spot/instance-action";
  private static final Duration PAUSE = Duration.ofSeconds(5);

  private final MetadataService service;
  private @Nullable String token;

  AwsNotices(MetadataService service) {
    this.service = service;
  }

  @Override
  public Optional<Notice> look() throws IOException, InterruptedException {
    HttpResponse<String> answer = ask();
    if (answer.statusCode() == MetadataService.UNAUTHORIZED) {
      token = null;
      answer = ask();
    }
    return answer.statusCode() == MetadataService.NOT_FOUND
        ? Optional.empty()
        : Optional.of(MetadataService.read(answer, AwsNotices::notice));
  }

  private HttpResponse<String> ask() throws IOException, InterruptedException {
    if (token == null) {
      token = MetadataService.text(service.put(TOKEN, TOKEN_LIFE, TOKEN_LIFE_SECONDS));
    }
    return service.get(ACTION, TOKEN_HEADER, token, MetadataService.PATIENCE);
  }

  private static Notice notice(JsonObject action) {
    Instant at = Instant.parse(action.get("time").getAsString());
    return new Notice("AWS has announced the end of this spot instance at " + at, at);
  }

  @Override
  public Duration pause() {
    return PAUSE;
  }
}
