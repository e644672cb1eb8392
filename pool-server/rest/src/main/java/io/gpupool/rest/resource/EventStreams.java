// SPDX-License-Identifier: Apache-2.0
package io.gpupool.rest.resource;

import io.gpupool.rest.call.Call;
import io.gpupool.rest.http.ConcurrencyLimiter;
import io.gpupool.rest.http.ProblemException;
import io.gpupool.rest.http.Response;
import io.gpupool.server.identity.UserInfo;
import io.gpupool.server.view.PoolSnapshot;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;

/**
 * Streams of changes as server-sent events. Each stream looks at the pool periodically on its
 * request's thread, with its caller's token, so it ends when the token does.
 */
public final class EventStreams {
  private static final int MAX_STREAMS = 64;
  private static final int PER_TENANT = 16;
  private static final int PER_TOKEN = 8;
  private static final int FOR_ADMINS = 16;
  private static final long PERIOD_MILLIS = 500;
  private static final int SILENT_PERIODS = 20;

  private final ConcurrencyLimiter open =
      new ConcurrencyLimiter("streams of events", MAX_STREAMS, PER_TENANT, PER_TOKEN, FOR_ADMINS);

  public Response answer(Call call) throws ProblemException {
    PoolSnapshot first = call.snapshot();
    String wanted = call.query().get("kind");
    List<Kind> kinds =
        Arrays.stream(Kind.values())
            .filter(kind -> wanted == null || wanted.equals(kind.name()))
            .toList();
    UserInfo caller = call.caller();
    Optional<String> refusal = open.take(caller);
    if (refusal.isPresent()) {
      throw new ProblemException(503, refusal.get());
    }
    return Response.stream(
        "text/event-stream",
        new Response.Body() {
          @Override
          public void writeTo(OutputStream out) throws IOException {
            stream(call, first, new ChangeFeed(kinds), out);
          }

          @Override
          public void end() {
            open.give(caller);
          }
        });
  }

  private static void stream(Call call, PoolSnapshot first, ChangeFeed changes, OutputStream out)
      throws IOException {
    // The comment makes an empty pool's stream begin, too.
    write(out, ": changes follow\n\n" + changes.since(first));
    int silent = 0;
    try {
      while (true) {
        Thread.sleep(PERIOD_MILLIS);
        String news = changes.since(call.snapshot());
        silent = news.isEmpty() ? silent + 1 : 0;
        if (silent == SILENT_PERIODS) {
          silent = 0;
          news = ": nothing new\n\n";
        }
        write(out, news);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } catch (ProblemException e) {
      write(out, ": " + e.getMessage() + "\n\n");
    }
  }

  private static void write(OutputStream out, String text) throws IOException {
    if (!text.isEmpty()) {
      out.write(text.getBytes(StandardCharsets.UTF_8));
      out.flush();
    }
  }
}
