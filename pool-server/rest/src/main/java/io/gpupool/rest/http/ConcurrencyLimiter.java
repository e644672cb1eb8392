// SPDX-License-Identifier: Apache-2.0
package io.gpupool.rest.http;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import io.gpupool.server.identity.Role;
import io.gpupool.server.identity.UserInfo;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * A limited number of slots for things that callers keep open. No token and no tenant can take all
 * of them, and some are reserved for admins. For any thread.
 */
public final class ConcurrencyLimiter {
  private final String what;
  private final int limit;
  private final int perTenant;
  private final int perCaller;
  private final int forAdmins;

  @GuardedBy("this")
  private final Map<String, Integer> byTenant = new HashMap<>();

  @GuardedBy("this")
  private final Map<String, Integer> byCaller = new HashMap<>();

  @GuardedBy("this")
  private int taken;

  /**
   * All are free.
   *
   * @param what is kept open, as messages name it
   * @param forAdmins of the limit, those that only admins take
   */
  public ConcurrencyLimiter(String what, int limit, int perTenant, int perCaller, int forAdmins) {
    this.what = what;
    this.limit = limit;
    this.perTenant = perTenant;
    this.perCaller = perCaller;
    this.forAdmins = forAdmins;
  }

  /** Takes a place, or says why there is none. */
  public synchronized Optional<String> take(UserInfo caller) {
    boolean admin = caller.role() == Role.ADMIN;
    if (!admin && count(byCaller, caller.name()) >= perCaller) {
      return Optional.of("this token has " + perCaller + " " + what + " already; close some");
    }
    if (!admin && count(byTenant, caller.tenant()) >= perTenant) {
      return Optional.of(
          "tenant '"
              + caller.tenant()
              + "' has "
              + perTenant
              + " "
              + what
              + " already; close some");
    }
    int most = admin ? limit : limit - forAdmins;
    if (taken >= most) {
      return Optional.of("there are " + most + " " + what + " already; try again later");
    }
    taken++;
    byCaller.merge(caller.name(), 1, Integer::sum);
    byTenant.merge(caller.tenant(), 1, Integer::sum);
    return Optional.empty();
  }

  /** Gives a place back. */
  public synchronized void give(UserInfo caller) {
    taken--;
    byCaller.computeIfPresent(caller.name(), ConcurrencyLimiter::less);
    byTenant.computeIfPresent(caller.tenant(), ConcurrencyLimiter::less);
  }

  private static int count(Map<String, Integer> counts, String key) {
    return counts.getOrDefault(key, 0);
  }

  private static @Nullable Integer less(String key, int count) {
    return count == 1 ? null : count - 1;
  }
}
