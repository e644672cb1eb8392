// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.gson.JsonObject;
import io.gpupool.control.v1.AuditLine;
import io.gpupool.control.v1.CreateTenantRequest;
import io.gpupool.control.v1.ListAuditRequest;
import io.gpupool.server.oidc.TestIssuer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A server that takes logins of an issuer, and programs whose token is one. */
class OidcIT {
  private static final String[] HALF = {"-p", "0.5"};

  @Test
  void run_withALogin_isItsTenantsAndWithABadOneRefused(@TempDir Path folder) throws Exception {
    try (TestIssuer issuer = new TestIssuer();
        Pool pool =
            Pool.start(
                "soft:1,mem=256Mi",
                "--state",
                folder.toString(),
                "--auth",
                "tokens",
                "--oidc-issuer",
                issuer.url().toString(),
                "--oidc-audience",
                TestIssuer.AUDIENCE);
        Clients admin =
            new Clients(
                pool.controlPort(), Files.readString(folder.resolve("admin.token")).strip())) {
      TestIssuer.Key key = issuer.publish("one", "ES256");
      admin.admin().createTenant(CreateTenantRequest.newBuilder().setName("blue").build());

      String login = TestIssuer.sign(key, issuer.claims("blue", "user"));
      Program.Ended ended =
          pool.run(HALF, CPrograms.example("vector_add"), Distribution.KERNELS)
              .with("GPUPOOL_TOKEN", login)
              .run();
      assertThat(ended.output()).as(ended.toString()).contains("vector_add: OK");
      List<AuditLine> lines =
          admin.admin().listAudit(ListAuditRequest.getDefaultInstance()).getLinesList();
      assertThat(lines)
          .filteredOn(line -> line.getAction().equals("lease.grant"))
          .extracting(AuditLine::getActor)
          .containsExactly("blue/alice");

      JsonObject expired = issuer.claims("blue", "user");
      expired.addProperty("exp", 1_000_000_000);
      assertThat(refused(pool, TestIssuer.sign(key, expired))).contains("it has expired");
      JsonObject foreign = issuer.claims("blue", "user");
      foreign.addProperty("aud", "payroll");
      assertThat(refused(pool, TestIssuer.sign(key, foreign)))
          .contains("it is for another audience than gpupool-test");
    }
  }

  /** What the command says to a program that gets no lease. */
  private static String refused(Pool pool, String login) {
    Program.Ended ended = pool.run(HALF, "echo", "started").with("GPUPOOL_TOKEN", login).run();
    assertThat(ended.status()).as(ended.toString()).isNotZero();
    assertThat(ended.output()).doesNotContain("started");
    return ended.errors();
  }
}
