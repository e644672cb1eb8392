// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.controller;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.fabric8.kubernetes.api.model.PodCondition;
import io.gpupool.control.v1.EndSessionRequest;
import io.gpupool.control.v1.Lease;
import io.gpupool.control.v1.LeaseEvent;
import io.gpupool.control.v1.ListRequest;
import io.gpupool.control.v1.OpenSessionReply;
import io.gpupool.control.v1.SessionInfo;
import io.gpupool.server.Pool;
import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ClientCall;
import io.grpc.ClientInterceptor;
import io.grpc.ForwardingClientCall;
import io.grpc.ForwardingClientCallListener;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import java.io.IOException;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Connections of programs in pods that break, with a real pool and its worker. */
class DisconnectedSessionsIT {
  private final CompletableFuture<Lease> granted = new CompletableFuture<>();
  private TestPool pool;
  private TestCluster cluster;
  private LeaseController controller;

  /** A look at the lease that the controller gets, for its secret. */
  private final class Grants implements ClientInterceptor {
    @Override
    public <Q, A> ClientCall<Q, A> interceptCall(
        MethodDescriptor<Q, A> method, CallOptions options, Channel next) {
      return new ForwardingClientCall.SimpleForwardingClientCall<>(next.newCall(method, options)) {
        @Override
        public void start(Listener<A> answers, Metadata headers) {
          super.start(
              new ForwardingClientCallListener.SimpleForwardingClientCallListener<>(answers) {
                @Override
                public void onMessage(A message) {
                  if (message instanceof LeaseEvent event && event.hasGranted()) {
                    granted.complete(event.getGranted());
                  }
                  super.onMessage(message);
                }
              },
              headers);
        }
      };
    }
  }

  @BeforeEach
  void start() throws IOException {
    pool = new TestPool("soft:1");
    cluster = new TestCluster();
    controller =
        LeaseController.start(
            cluster.client, () -> pool.connect(new Grants()), TestPool.KEY, TestPool.OPTIONS);
  }

  /** Ends the sessions first, because a worker outlives its server. */
  @AfterEach
  void stop() throws IOException {
    controller.close();
    sessions().forEach(this::end);
    await().until(() -> sessions().isEmpty());
    cluster.close();
    pool.close();
  }

  private void end(SessionInfo session) {
    var ignored =
        pool.pool().stub.endSession(EndSessionRequest.newBuilder().setId(session.getId()).build());
  }

  private List<SessionInfo> sessions() {
    return pool.pool().stub.listSessions(ListRequest.getDefaultInstance()).getSessionsList();
  }

  @Test
  void pod_programLosesItsConnection_conditionSaysSoUntilItIsBack() throws Exception {
    cluster.create("train", "0.5");
    await().until(() -> cluster.isGranted("train"));
    String before = cluster.told("train");
    String since = condition().getLastTransitionTime();
    cluster.run("train");
    OpenSessionReply opened = pool.pool().session(granted.get(10, TimeUnit.SECONDS));
    try (Pool.Stream first = pool.pool().connect(opened)) {
      assertThat(first.answer().isAccepted()).isTrue();
      assertThat(first.say("stay")).isEqualTo("ok");
    }
    await().until(() -> cluster.told("train").startsWith("Disconnected: "));
    assertThat(cluster.told("train"))
        .startsWith(before.replace("Granted", "Disconnected"))
        .matches(".*; the connection of a program was lost, and may come back until [0-9:]{8}Z");
    assertThat(condition().getStatus()).isEqualTo("True");
    assertThat(condition().getLastTransitionTime()).isEqualTo(since);
    await()
        .untilAsserted(() ->
            assertThat(cluster.events("train"))
                .containsExactly("LeaseGranted", "LeaseDisconnected"));
    byte[] key = pool.pool().resume(opened).getResumeKey().toByteArray();
    try (Pool.Stream second = pool.pool().connect(opened, key)) {
      assertThat(second.answer().isAccepted()).isTrue();
      await().until(() -> cluster.told("train").equals(before));
      assertThat(cluster.events("train")).containsExactly("LeaseGranted", "LeaseDisconnected");
    }
  }

  private PodCondition condition() {
    return TestCluster.condition(cluster.get("train")).orElseThrow();
  }
}
