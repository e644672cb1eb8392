// SPDX-License-Identifier: Apache-2.0
package io.gpupool.agent.options;

import io.gpupool.client.connection.PoolRequestException;
import java.io.IOException;
import java.util.function.Supplier;

/**
 * A directory of the pods behind programs, where an agent serves a node of Kubernetes. For any
 * thread.
 */
public interface PodPrograms {
  /**
   * A pod.
   *
   * @param uid as Kubernetes names it
   * @param token the pod's proof of identity to the pool; asked for again and again, since it is
   *     renewed, and equal to that of another program of the pod
   */
  record Pod(String uid, Supplier<String> token) {}

  /**
   * Returns the time at which a program is seen, for {@link #podOf}.
   *
   * @throws IOException if the node does not say
   */
  long nowTicks() throws IOException;

  /**
   * Returns the pod in which a process runs.
   *
   * @param pid as the kernel gives it for a socket's other end
   * @param thereTicks a time at which the process was there; one that started later is another
   * @throws PoolRequestException if it is in no pod, or in one that has no token
   */
  Pod podOf(int pid, long thereTicks);
}
