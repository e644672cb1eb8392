// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.control.v1.LeaseEvent;
import io.gpupool.control.v1.LeaseRequest;
import io.gpupool.control.v1.ListRequest;
import io.gpupool.control.v1.ReleaseLeaseRequest;
import java.util.Iterator;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Requests that their clients withdraw by the ids that they gave them. */
class WithdrawalIT {
  private static final String ID = "0123456789abcdef0123456789abcdef";
  private Pool pool;

  @BeforeEach
  void start() throws Exception {
    pool = new Pool("soft:1", 0);
  }

  @AfterEach
  void stop() {
    pool.close();
  }

  @Test
  void withdrawal_ofARequestThatWasGranted_endsTheLeaseAtOnce() {
    Pool.Held held = pool.lease(request().setResumeWindowMillis(60_000));
    withdraw(ID);
    LeaseEvent end = held.events().next();
    assertThat(end.getEnded().getReason()).isEqualTo("its request was withdrawn");
    assertThat(leases()).isZero();
  }

  @Test
  void withdrawal_ofARequestWhoseStreamIsGone_endsTheLeaseThatItsWindowWouldKeep() {
    Pool.Held held = pool.lease(request().setResumeWindowMillis(60_000));
    held.stream().cancel(null);
    withdraw(ID);
    assertThat(leases()).isZero();
  }

  @Test
  void withdrawal_ofARequestThatWaits_refusesIt() {
    Pool.Held before = pool.lease(LeaseRequest.newBuilder().setFraction(1));
    Iterator<LeaseEvent> events = pool.request(request().setWaitMillis(60_000).build());
    assertThat(events.next().hasQueued()).isTrue();
    withdraw(ID);
    assertThat(events.next().hasRefused()).isTrue();
    before.stream().cancel(null);
  }

  @Test
  void withdrawal_byAnotherId_changesNothing() {
    Pool.Held held = pool.lease(request());
    withdraw("f".repeat(32));
    assertThat(leases()).isEqualTo(1);
    held.stream().cancel(null);
  }

  private void withdraw(String id) {
    var ignored = pool.stub.releaseLease(ReleaseLeaseRequest.newBuilder().setSecret(id).build());
  }

  private int leases() {
    return pool.stub.listLeases(ListRequest.getDefaultInstance()).getLeasesCount();
  }

  private static LeaseRequest.Builder request() {
    return LeaseRequest.newBuilder().setFraction(1).setRequestId(ID);
  }
}
