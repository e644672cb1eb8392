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
   * @param token by which it proves to the pool who it is; asked for time and again, since it is
   *     renewed, and equal to that of another program of the pod
   */
  record Pod(String uid, Supplier<String> token) {}

  /**
   * The time, to be noted when a program is seen to be there, for {@link #podOf}.
   *
   * @throws IOException if the node does not tell
   */
  long nowTicks() throws IOException;

  /**
   * The pod in which a process runs.
   *
   * @param pid as the kernel tells it of a socket's other end
   * @param thereTicks when it was there; one that has started later is another
   * @throws PoolRequestException if it is in no pod, or in one that has no token
   */
  Pod podOf(int pid, long thereTicks);
}
