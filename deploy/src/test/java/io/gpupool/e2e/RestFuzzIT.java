// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.e2e.rest.Fuzzer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Requests made by the OpenAPI document, good and spoiled: 250 of them, or as many as {@code
 * -Dgpupool.fuzz.rest=N} says.
 */
class RestFuzzIT {
  private static final int REQUESTS = Integer.getInteger("gpupool.fuzz.rest", 1000);
  private static final long SEED = Long.getLong("gpupool.fuzz.seed", 1);
  private static final Pattern TOKEN = Pattern.compile("gpupool_[-_A-Za-z0-9]+");

  @TempDir Path state;

  @Test
  void requests_goodAndSpoiled_areAnsweredAsTheDocumentSays() throws Exception {
    String[] options = {"--state", state.toString(), "--auth", "tokens", "--name", "gpu-1"};
    try (Pool pool = Pool.start("soft:2,mem=8Gi", options)) {
      String admin = Files.readString(state.resolve("admin.token")).strip();
      assertThat(gpupool(pool, admin, "tenant", "create", "n1")).isNotEmpty();
      String user = token(pool, admin, "user");
      String reader = token(pool, admin, "read-only");
      String adminId = gpupool(pool, admin, "tenant", "token", "list", "admin");
      Matcher id = Pattern.compile("[0-9a-f]{12}").matcher(adminId);
      assertThat(id.find()).isTrue();
      Fuzzer fuzzer =
          new Fuzzer(
              "http://127.0.0.1:" + pool.httpPort(),
              List.of(admin, user, reader, "gpupool_wrong"),
              Set.of("admin", id.group()),
              SEED);
      List<String> faults = new ArrayList<>();
      for (int i = 0; i < REQUESTS && faults.size() < 10; i++) {
        faults.addAll(fuzzer.next());
      }
      System.out.println(REQUESTS + " requests: " + fuzzer.answers());
      assertThat(faults).isEmpty();
      assertThat(fuzzer.answers().keySet()).contains(200, 201, 400, 401, 403, 404);
    }
  }

  private static String token(Pool pool, String admin, String role) {
    Matcher token =
        TOKEN.matcher(gpupool(pool, admin, "tenant", "token", "create", "n1", "--role", role));
    assertThat(token.find()).isTrue();
    return token.group();
  }

  private static String gpupool(Pool pool, String token, String... arguments) {
    List<String> line = new ArrayList<>(List.of(Distribution.gpupool().toString()));
    line.addAll(List.of(arguments));
    Program.Ended ended =
        Program.of(line).with("GPUPOOL_POOL", pool.address()).with("GPUPOOL_TOKEN", token).run();
    assertThat(ended.status()).as(ended.errors()).isZero();
    return ended.output();
  }
}
