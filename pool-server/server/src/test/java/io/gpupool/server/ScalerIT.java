// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.gpupool.control.keda.ExternalScalerGrpc;
import io.gpupool.control.keda.ExternalScalerGrpc.ExternalScalerBlockingStub;
import io.gpupool.control.keda.GetMetricsRequest;
import io.gpupool.control.keda.GetMetricsResponse;
import io.gpupool.control.keda.IsActiveResponse;
import io.gpupool.control.keda.ScaledObjectRef;
import io.gpupool.control.v1.CreateTokenReply;
import io.gpupool.control.v1.CreateTokenRequest;
import io.gpupool.control.v1.LeaseRequest;
import io.gpupool.control.v1.ListTenantsRequest;
import io.gpupool.control.v1.RevokeTokenRequest;
import io.gpupool.control.v1.Role;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A server as KEDA asks it, over real gRPC. */
class ScalerIT {
  @Test
  void getMetrics_requestWaits_asksForAServerMoreAndStreamsThatItIsActive() throws Exception {
    try (Pool pool = new Pool("soft:1", 0)) {
      ScaledObjectRef object = object(Map.of("scaleOutDelaySeconds", "0"));
      ExternalScalerBlockingStub keda = keda(pool);
      assertThat(keda.getMetricSpec(object).getMetricSpecs(0).getTargetSizeFloat()).isEqualTo(1);
      assertThat(keda.isActive(object).getResult()).isTrue();
      assertThat(keda.streamIsActive(object).next().getResult()).isTrue();
      assertThat(servers(keda, object)).isEqualTo(1);
      Pool.Held held = pool.lease(1);
      var waiting = pool.request(LeaseRequest.newBuilder().setWaitMillis(60_000).build());
      assertThat(waiting.next().getQueued().getPosition()).isEqualTo(1);
      assertThat(servers(keda, object)).isEqualTo(2);
      assertThat(held.lease().getId()).isEqualTo("L1");
      assertThatThrownBy(() -> servers(keda, object(Map.of("maxServer", "3"))))
          .hasMessageContaining("'maxServer' is not known");
    }
  }

  @Test
  void getMetrics_withTokens_needsOneInTheTriggersMetadata(@TempDir Path folder) throws Exception {
    try (Pool pool = Pool.withTokens(folder)) {
      assertThatThrownBy(() -> servers(keda(pool), object(Map.of())))
          .hasMessageContaining("UNAUTHENTICATED")
          .hasMessageContaining("tokenFromEnv");
      String token = Files.readString(pool.server.adminToken().orElseThrow()).strip();
      for (String key : List.of("token", "tokenFromEnv")) {
        assertThat(servers(keda(pool), object(Map.of(key, token)))).isEqualTo(1);
      }
    }
  }

  @Test
  void streamIsActive_withATokenInTheHeader_goesOnUntilItIsRevoked(@TempDir Path folder)
      throws Exception {
    try (Pool pool = Pool.withTokens(folder)) {
      String admin = Files.readString(pool.server.adminToken().orElseThrow()).strip();
      CreateTokenReply reader =
          pool.admin(admin)
              .createToken(
                  CreateTokenRequest.newBuilder()
                      .setTenant(
                          pool.admin(admin)
                              .listTenants(ListTenantsRequest.getDefaultInstance())
                              .getTenants(0)
                              .getName())
                      .setRole(Role.ROLE_READ_ONLY)
                      .build());
      Iterator<IsActiveResponse> stream =
          keda(pool)
              .withInterceptors(Pool.bearer(reader.getToken()))
              .streamIsActive(object(Map.of("scaleInDelaySeconds", "1", "coolDownSeconds", "0")));
      assertThat(stream.next().getResult()).isTrue();
      // After some looks the idle server is not needed any more.
      assertThat(stream.next().getResult()).isFalse();
      var ignored =
          pool.admin(admin)
              .revokeToken(RevokeTokenRequest.newBuilder().setId(reader.getInfo().getId()).build());
      assertThatThrownBy(stream::next).hasMessageContaining("UNAUTHENTICATED");
    }
  }

  private static ExternalScalerBlockingStub keda(Pool pool) {
    return ExternalScalerGrpc.newBlockingStub(pool.channel())
        .withDeadlineAfter(60, TimeUnit.SECONDS);
  }

  private static double servers(ExternalScalerBlockingStub keda, ScaledObjectRef object) {
    GetMetricsResponse reply =
        keda.getMetrics(
            GetMetricsRequest.newBuilder()
                .setScaledObjectRef(object)
                .setMetricName("gpupool-servers")
                .build());
    return reply.getMetricValues(0).getMetricValueFloat();
  }

  private static ScaledObjectRef object(Map<String, String> metadata) {
    return ScaledObjectRef.newBuilder()
        .setName("gpus")
        .setNamespace("pool")
        .putAllScalerMetadata(metadata)
        .build();
  }
}
