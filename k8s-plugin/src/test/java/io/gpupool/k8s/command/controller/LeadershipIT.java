// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.command.controller;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.fabric8.kubernetes.api.model.coordination.v1.Lease;
import io.fabric8.kubernetes.api.model.coordination.v1.LeaseBuilder;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.gpupool.k8s.api.TestApiServer;
import io.gpupool.k8s.certificates.Release;
import java.time.Duration;
import java.time.ZoneOffset;
import java.time.ZonedDateTime;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

class LeadershipIT {
  private static final Duration LIMIT = Duration.ofSeconds(40);

  @RegisterExtension private final TestApiServer apiServer = new TestApiServer();
  private final KubernetesClient client = apiServer.client();
  private final AtomicInteger terms = new AtomicInteger();
  private final AtomicInteger begun = new AtomicInteger();
  private final AtomicInteger most = new AtomicInteger();

  @BeforeEach
  void install() {
    new Release(client);
  }

  private Leadership stand(String identity) {
    return Leadership.start(
        client,
        new ElectionLock(Release.NAMESPACE, "pool-controller", identity),
        () -> {
          begun.incrementAndGet();
          most.accumulateAndGet(terms.incrementAndGet(), Math::max);
          return terms::decrementAndGet;
        });
  }

  private Lease lease() {
    return client.leases().inNamespace(Release.NAMESPACE).withName("pool-controller").get();
  }

  /** Somebody else is the leader now, as after a time in which this one was stopped. */
  private void elect(String other, int seconds) {
    ZonedDateTime now = ZonedDateTime.now(ZoneOffset.UTC);
    client
        .leases()
        .inNamespace(Release.NAMESPACE)
        .withName("pool-controller")
        .edit(lease ->
            new LeaseBuilder(lease)
                .editOrNewSpec()
                .withHolderIdentity(other)
                .withLeaseDurationSeconds(seconds)
                .withAcquireTime(now)
                .withRenewTime(now)
                .endSpec()
                .build());
  }

  @Test
  void leader_endsInOrder_theNextOneBeginsAfterIt() {
    try (Leadership second = second()) {
      await().atMost(LIMIT).until(second::isLeading);
      assertThat(begun).hasValue(2);
      assertThat(most).hasValue(1);
      assertThat(lease().getSpec().getHolderIdentity()).isEqualTo("second");
    }
    assertThat(terms).hasValue(0);
  }

  /** Stands while the first is the leader, which then ends. */
  private Leadership second() {
    try (Leadership first = stand("first")) {
      await().atMost(LIMIT).until(first::isLeading);
      Leadership second = stand("second");
      await()
          .during(Duration.ofSeconds(3))
          .atMost(LIMIT)
          .until(() -> first.isLeading() && !second.isLeading());
      return second;
    }
  }

  @Test
  void leader_anotherIsElected_stopsItsWorkAndStandsAgain() {
    try (Leadership first = stand("first")) {
      await().atMost(LIMIT).until(first::isLeading);
      elect("other", 4);
      await().atMost(LIMIT).until(() -> terms.get() == 0 && !first.isLeading());
      await().atMost(LIMIT).until(() -> begun.get() == 2 && first.isLeading());
      assertThat(most).hasValue(1);
      assertThat(lease().getSpec().getHolderIdentity()).isEqualTo("first");
    }
    assertThat(terms).hasValue(0);
  }

  @Test
  void work_doesNotBegin_isTriedAgain() {
    AtomicInteger tries = new AtomicInteger();
    try (Leadership first =
        Leadership.start(
            client,
            new ElectionLock(Release.NAMESPACE, "pool-controller", "first"),
            () -> {
              if (tries.incrementAndGet() == 1) {
                throw new IllegalStateException("not yet");
              }
              return () -> {};
            })) {
      await().atMost(LIMIT).until(first::isLeading);
      assertThat(tries).hasValue(2);
    }
  }
}
