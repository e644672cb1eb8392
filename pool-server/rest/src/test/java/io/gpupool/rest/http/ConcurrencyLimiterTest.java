// SPDX-License-Identifier: Apache-2.0
package io.gpupool.rest.http;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.server.identity.Role;
import io.gpupool.server.identity.UserInfo;
import org.junit.jupiter.api.Test;

class ConcurrencyLimiterTest {
  private final ConcurrencyLimiter slots = new ConcurrencyLimiter("streams", 8, 4, 2, 2);

  @Test
  void take_oneTokenOrTenant_hasNotAllAndAdminsHaveTheirs() {
    assertThat(slots.take(caller("blue", "1"))).isEmpty();
    assertThat(slots.take(caller("blue", "1"))).isEmpty();
    assertThat(slots.take(caller("blue", "1"))).get().asString().contains("this token has 2");
    assertThat(slots.take(caller("blue", "2"))).isEmpty();
    assertThat(slots.take(caller("blue", "2"))).isEmpty();
    assertThat(slots.take(caller("blue", "3"))).get().asString().contains("tenant 'blue' has 4");
    assertThat(slots.take(caller("red", "4"))).isEmpty();
    assertThat(slots.take(caller("red", "4"))).isEmpty();
    assertThat(slots.take(caller("green", "5"))).get().asString().contains("there are 6 streams");
    UserInfo admin = new UserInfo("ops", Role.ADMIN, "ops/6", null);
    assertThat(slots.take(admin)).isEmpty();
    assertThat(slots.take(admin)).isEmpty();
    assertThat(slots.take(admin)).isPresent();
    slots.give(caller("blue", "1"));
    slots.give(admin);
    slots.give(admin);
    assertThat(slots.take(caller("blue", "1"))).isEmpty();
  }

  private static UserInfo caller(String tenant, String token) {
    return new UserInfo(tenant, Role.READ_ONLY, tenant + "/" + token, null);
  }
}
