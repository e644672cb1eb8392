// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.dra;

import io.gpupool.container.CdiSpec;
import io.gpupool.container.ContainerWiring;
import io.gpupool.control.v1.Grant;
import io.gpupool.control.v1.LeaseInfo;
import io.gpupool.control.v1.ListRequest;
import io.gpupool.control.v1.PodRef;
import io.gpupool.control.v1.PoolGrpc;
import io.gpupool.control.v1.QueueInfo;
import io.gpupool.k8s.request.RejectionAdvice;
import io.gpupool.runtime.BackOff;
import io.grpc.ManagedChannel;
import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/**
 * The claims of this node's containers, prepared once the pool has granted their leases. The pool's
 * word is enough, so a node needs no rights at the API server. Blocking; for any thread.
 */
final class NodeClaims {
  private static final long CALL_SECONDS = 10;

  /** The pause after the first look; later ones grow up to the longest. */
  private static final Duration FIRST_PAUSE = Duration.ofMillis(300);

  private static final Duration LONGEST_PAUSE = Duration.ofSeconds(2);

  private final PoolGrpc.PoolBlockingStub pool;
  private final ContainerWiring wiring;
  private final Path cdiFolder;
  private final Duration patience;

  /**
   * Begins without claims.
   *
   * @param pool a channel with credentials of this node, to which the pool shows the leases of its
   *     pods
   * @param patience how long to wait for a lease
   */
  NodeClaims(ManagedChannel pool, ContainerWiring wiring, Path cdiFolder, Duration patience) {
    this.pool = PoolGrpc.newBlockingStub(pool);
    this.wiring = wiring;
    this.cdiFolder = cdiFolder;
    this.patience = patience;
  }

  /** A claim that can be used: its device, and the device's name for the container runtime. */
  record Prepared(String pool, String device, String cdiDevice) {}

  /**
   * Prepares a claim; may be called again for the same claim.
   *
   * @throws IOException if it cannot be used now; the message is for people
   */
  Prepared prepare(String claim) throws IOException, InterruptedException {
    String name = DraNames.claim(claim);
    long deadline = System.nanoTime() + patience.toNanos();
    // Each look lists all leases of the node's pods, and many claims wait when the pool is full.
    BackOff pauses = BackOff.exact(FIRST_PAUSE, LONGEST_PAUSE);
    Optional<LeaseInfo> lease = find(name);
    while (lease.isEmpty()) {
      if (System.nanoTime() - deadline >= 0) {
        throw new IOException(reason(name));
      }
      Thread.sleep(pauses.next());
      lease = find(name);
    }
    Map<String, String> environment = new LinkedHashMap<>(wiring.environment());
    environment.put("GPUPOOL_LEASE", "pod/" + name);
    CdiSpec spec =
        new CdiSpec(
            DraNames.CLAIM_KIND, List.of(new CdiSpec.Device(name, wiring.mounts(), environment)));
    spec.write(file(name));
    Grant grant = lease.get().getGrants(0).getGrant();
    return new Prepared(
        DraNames.pool(grant.getServer()),
        DraNames.device(grant.getGpuUuid()),
        spec.qualifiedNames().getFirst());
  }

  /** Undoes the preparation of a claim; may be called again for the same claim. */
  void unprepare(String claim) throws IOException {
    Files.deleteIfExists(file(DraNames.claim(claim)));
  }

  static void unprepareAll(Path cdiFolder) throws IOException {
    try (DirectoryStream<Path> files =
        Files.newDirectoryStream(cdiFolder, fileName(DraNames.claim("*")))) {
      for (Path file : files) {
        Files.deleteIfExists(file);
      }
    }
  }

  private Path file(String name) {
    return cdiFolder.resolve(fileName(name));
  }

  private static String fileName(String name) {
    return "gpupool.io-" + name + ".json";
  }

  private PoolGrpc.PoolBlockingStub call() {
    return pool.withDeadlineAfter(CALL_SECONDS, TimeUnit.SECONDS);
  }

  private Optional<LeaseInfo> find(String name) {
    return call().listLeases(ListRequest.getDefaultInstance()).getLeasesList().stream()
        .filter(lease -> lease.hasPod() && isFor(lease.getPod(), name))
        .filter(
            lease -> lease.getState() != LeaseInfo.State.STATE_ENDING && lease.getGrantsCount() > 0)
        .findFirst();
  }

  private static boolean isFor(PodRef pod, String name) {
    return pod.getContainersList().contains(name);
  }

  private String reason(String name) {
    for (QueueInfo waiting : call().listQueue(ListRequest.getDefaultInstance()).getRequestsList()) {
      if (waiting.hasPod() && isFor(waiting.getPod(), name)) {
        return "the claim waits for the pool, place "
            + waiting.getPosition()
            + ": "
            + RejectionAdvice.CLAIM.text(waiting.getReason());
      }
    }
    return "the pool has no lease for the claim: gpupool's controller has not asked for one (yet),"
        + " or was refused; the pod's events tell why";
  }
}
