// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.identity;

import io.gpupool.client.connection.PoolRequestException;
import io.gpupool.client.connection.PoolRequestException.Cause;
import io.gpupool.client.connection.TokenFile;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;

/**
 * A finder of programs' pods, and of the pods' tokens in the kubelet's folder, so that a program
 * need do nothing to prove what it is. For any thread.
 */
public final class PodTokens {
  private static final String TOKEN = "volumes/kubernetes.io~projected/gpupool-token/token";
  private static final int MAX_TOKEN_BYTES = 64 << 10;

  private final PodProcesses processes;
  private final Path pods;

  /**
   * Reads nothing yet.
   *
   * @param kubelet the kubelet's folder, /var/lib/kubelet
   */
  public PodTokens(PodProcesses processes, Path kubelet) {
    this.processes = processes;
    pods = kubelet.resolve("pods");
  }

  /**
   * A pod with its token.
   *
   * @param uid the pod's UID, as Kubernetes writes it
   * @param token the file of the token, which the kubelet renews
   */
  public record PodToken(String uid, TokenFile token) {}

  /**
   * Returns the time at which a program is seen, for {@link #podOf}.
   *
   * @throws IOException if the proc file system does not have it
   */
  public long nowTicks() throws IOException {
    return processes.nowTicks();
  }

  /**
   * Returns the pod in which a process runs.
   *
   * @param pid as the kernel gives it for a socket's other end
   * @param thereTicks a time at which the process was there, from {@link #nowTicks}
   * @throws PoolRequestException if the process is in no pod, or in one that has no token
   */
  public PodToken podOf(int pid, long thereTicks) {
    return switch (processes.ownerOf(pid, thereTicks)) {
      case Owner.Unknown(String reason) ->
          throw new PoolRequestException(Cause.DENIED, "GPUs here are for pods alone: " + reason);
      case Owner.InPod(PodUid pod, ContainerId _) -> new PodToken(pod.text(), token(pod));
    };
  }

  private TokenFile token(PodUid pod) {
    Path file = pods.resolve(pod.text()).resolve(TOKEN);
    try {
      if (Files.size(file) > MAX_TOKEN_BYTES) {
        throw new PoolRequestException(
            Cause.DENIED, "the token of pod " + pod + " is no token: it is too long");
      }
      if (Files.readString(file).isBlank()) {
        throw new PoolRequestException(Cause.DENIED, "the token of pod " + pod + " is empty");
      }
      return new TokenFile(file);
    } catch (NoSuchFileException e) {
      throw new PoolRequestException(
          Cause.DENIED,
          "the pod "
              + pod
              + " has no gpupool token: was it created while the webhook was not there? It has to"
              + " ask for GPUs (gpupool.io/gpu: 0.5) when it is created");
    } catch (IOException e) {
      throw new PoolRequestException(
          Cause.INTERNAL, "the token of pod " + pod + " cannot be read by the node's agent: " + e);
    }
  }
}
