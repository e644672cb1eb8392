// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Programs that get their connection back on each of the ways to it. */
class ResumeWaysIT {
  private static final List<String> SHARE = List.of("-m", "256Mi");
  private static final int HANDSHAKE_BYTES = 64 + 8;

  @Test
  void agent_killedAndStartedAgain_givesProgramsAnotherConnection(@TempDir Path folder)
      throws Exception {
    try (CutSite site = CutSite.withTls(folder);
        Tenant tenant = tenant(site)) {
      for (int turn = 0; turn < 2; turn++) {
        await().until(() -> site.make(new CutPlan.Cut(Fault.AGENT_KILLED, 0, true)));
        tenant.assertWorks();
      }
      leave(tenant);
      assertThat(tenant.run().errors()).containsPattern("(?s)again after.*again after");
      site.awaitNothingLeft();
    }
  }

  @Test
  void streamOverTls_isReset_goesOn(@TempDir Path folder) throws Exception {
    try (CutSite site = CutSite.withTls(folder);
        Tenant tenant = tenant(site)) {
      site.reset();
      tenant.assertWorks();
      leave(tenant);
      assertThat(tenant.run().errors()).contains("again after");
      site.awaitNothingLeft();
    }
  }

  /** Before, within and after the worker's first answer. */
  @Test
  void stream_breaksWhileTheSessionBegins_theProgramDoesNotNotice() throws Exception {
    try (CutSite site = CutSite.ofOneServer()) {
      for (int atByte : new int[] {HANDSHAKE_BYTES, 200, 2000}) {
        site.follow(CutPlan.at(atByte, new CutPlan.Cut(Fault.RESET, 0, true)));
        try (Tenant tenant = tenant(site)) {
          tenant.assertWorks();
          leave(tenant);
          assertThat(tenant.run().errors()).as("cut at byte %d", atByte).contains("again after");
        }
        site.awaitNothingLeft();
      }
    }
  }

  private static Tenant tenant(CutSite site) {
    List<Object> command = List.of(CPrograms.fixture("tenant"), Distribution.KERNELS);
    return Tenant.of(site.program(SHARE, command).start());
  }

  private static void leave(Tenant tenant) {
    tenant.tell("exit 0");
    assertThat(tenant.run().awaitEnd().status()).as(tenant.run().report()).isZero();
  }
}
