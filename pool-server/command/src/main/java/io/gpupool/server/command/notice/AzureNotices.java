// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.command.notice;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import java.io.IOException;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.time.format.DateTimeFormatter;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The scheduled events by which a virtual machine of Azure learns that it is evicted or deleted, 30
 * seconds ahead at least. They name the machines that they are about. Azure recommends to look
 * every second.
 */
final class AzureNotices implements NoticeSource {
  private static final String EVENTS = "/metadata/scheduledevents?api-version=2020-07-01";
  private static final String NAME =
      "/metadata/instance/compute/name?api-version=2021-02-01&format=text";
  private static final Set<String> ENDS = Set.of("Preempt", "Terminate");
  private static final Duration PAUSE = Duration.ofSeconds(1);

  private final MetadataService service;
  private final InstantSource clock;
  private @Nullable String name;

  AzureNotices(MetadataService service, InstantSource clock) {
    this.service = service;
    this.clock = clock;
  }

  @Override
  public Optional<Notice> look() throws IOException, InterruptedException {
    if (name == null) {
      name = MetadataService.text(ask(NAME)).strip();
    }
    String machine = name;
    return MetadataService.read(ask(EVENTS), events -> notice(events, machine));
  }

  private Optional<Notice> notice(JsonObject events, String machine) {
    for (JsonElement each : events.getAsJsonArray("Events")) {
      JsonObject event = each.getAsJsonObject();
      if (ENDS.contains(event.get("EventType").getAsString()) && isAbout(event, machine)) {
        Instant at = notBefore(event);
        return Optional.of(
            new Notice("Azure has announced the end of this virtual machine at " + at, at));
      }
    }
    return Optional.empty();
  }

  private HttpResponse<String> ask(String path) throws IOException, InterruptedException {
    return service.get(path, "Metadata", "true", MetadataService.PATIENCE);
  }

  private static boolean isAbout(JsonObject event, String machine) {
    return event.getAsJsonArray("Resources").asList().stream()
        .anyMatch(resource -> resource.getAsString().equalsIgnoreCase(machine));
  }

  /** An event that has begun says no time any more. */
  private Instant notBefore(JsonObject event) {
    String text = event.get("NotBefore").getAsString();
    return text.isBlank()
        ? clock.instant()
        : DateTimeFormatter.RFC_1123_DATE_TIME.parse(text, Instant::from);
  }

  @Override
  public Duration pause() {
    return PAUSE;
  }
}
