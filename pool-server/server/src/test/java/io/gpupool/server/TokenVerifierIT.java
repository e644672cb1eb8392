// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.google.gson.JsonObject;
import io.gpupool.control.v1.CreateTenantRequest;
import io.gpupool.control.v1.LeaseEvent;
import io.gpupool.control.v1.LeaseRequest;
import io.gpupool.control.v1.ListAuditRequest;
import io.gpupool.control.v1.ListRequest;
import io.gpupool.server.oidc.TestIssuer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Iterator;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A server that lets in who has logged in with an issuer: over gRPC, and for its HTTP port. */
class TokenVerifierIT {
  @Test
  void token_ofTheIssuer_isItsSubjectWithItsRole(@TempDir Path folder) throws Exception {
    try (TestIssuer issuer = new TestIssuer();
        Pool pool = Pool.withIssuer(folder.resolve("state"), issuer.options())) {
      TestIssuer.Key key = issuer.publish("one", "RS256");
      String own = Files.readString(pool.server.adminToken().orElseThrow()).strip();
      pool.admin(own).createTenant(CreateTenantRequest.newBuilder().setName("blue").build());

      String user = TestIssuer.sign(key, issuer.claims("blue", "user"));
      Iterator<LeaseEvent> events =
          pool.as(user).requestLease(LeaseRequest.newBuilder().setFraction(0.25).build());
      assertThat(events.next().getGranted().getId()).isNotEmpty();
      assertThat(
              pool.as(user).listLeases(ListRequest.getDefaultInstance()).getLeases(0).getTenant())
          .isEqualTo("blue");
      assertThatThrownBy(() -> pool.admin(user).listAudit(ListAuditRequest.getDefaultInstance()))
          .hasMessageContaining("PERMISSION_DENIED")
          .hasMessageContaining("user");

      String admin = TestIssuer.sign(key, issuer.claims("blue", "gpupool-admin"));
      pool.admin(admin).createTenant(CreateTenantRequest.newBuilder().setName("red").build());
      assertThat(pool.admin(admin).listAudit(ListAuditRequest.getDefaultInstance()).getLinesList())
          .anyMatch(line ->
              line.getAction().equals("tenant.create") && line.getActor().equals("blue/alice"));

      assertThat(read(pool, user)).isTrue();
      assertThat(read(pool, user + "x")).isFalse();
      assertThatThrownBy(() ->
              pool.as(TestIssuer.sign(key, issuer.claims("green", "user")))
                  .listGpus(ListRequest.getDefaultInstance()))
          .hasMessageContaining("UNAUTHENTICATED")
          .hasMessageContaining("'green'");
      JsonObject expired = issuer.claims("blue", "user");
      expired.addProperty("exp", 1);
      assertThatThrownBy(() ->
              pool.as(TestIssuer.sign(key, expired)).listGpus(ListRequest.getDefaultInstance()))
          .hasMessageContaining("UNAUTHENTICATED")
          .hasMessageContaining("expired");
    }
  }

  private static boolean read(Pool pool, String token) throws Exception {
    return pool.server.reader().read(token).get(30, TimeUnit.SECONDS).isPresent();
  }
}
