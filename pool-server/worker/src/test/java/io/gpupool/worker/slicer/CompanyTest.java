// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.slicer;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

/** What a session is charged of a time in which others of its lease used the GPU as well. */
class CompanyTest {
  private final Company company = new Company();

  @Test
  void measuredTime_alone_isTheSessionsOwn() {
    assertThat(company.partOf(900)).isEqualTo(900);
    company.look(0);
    assertThat(company.partOf(900)).isEqualTo(900);
  }

  @Test
  void measuredTime_inCompanyForHalfOfIt_isSharedForHalfOfIt() {
    company.look(2);
    company.look(0);
    assertThat(company.partOf(900)).isEqualTo(600);
  }

  @Test
  void looksBeforeTheLastMeasurement_haveNoPartInTheNext() {
    company.look(2);
    assertThat(company.partOf(900)).isEqualTo(300);
    company.look(0);
    assertThat(company.partOf(900)).isEqualTo(900);
  }
}
