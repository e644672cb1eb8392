// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.sandbox;

import java.util.HashSet;
import java.util.Random;
import java.util.Set;

/**
 * The user ids of live workers. A returned id is not used again until all others have been. Owned
 * by the control thread.
 */
final class WorkerUsers {
  private final UserRange range;
  private final Set<Long> taken = new HashSet<>();
  private long next;

  /** Begins anywhere, so that two servers of a machine hardly ever give out the same ids. */
  WorkerUsers(UserRange range, Random random) {
    this.range = range;
    next = range.first() + random.nextLong(range.size());
  }

  /**
   * A user id that no live worker has.
   *
   * @throws IllegalStateException if each has one
   */
  long take() {
    for (long tried = 0; tried < range.size(); tried++) {
      long user = next;
      next = user == range.last() ? range.first() : user + 1;
      if (taken.add(user)) {
        return user;
      }
    }
    throw new IllegalStateException("all user ids for workers are taken");
  }

  /** Takes the user id of a worker that lives already. */
  void takeAgain(long user) {
    taken.add(user);
  }

  void giveBack(long user) {
    taken.remove(user);
  }
}
