// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.dra;

import io.fabric8.kubernetes.api.model.resource.v1.ResourceClaim;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientException;
import io.fabric8.kubernetes.client.informers.ResourceEventHandler;
import io.fabric8.kubernetes.client.informers.SharedIndexInformer;
import io.gpupool.control.v1.LeaseInfo;
import io.gpupool.control.v1.ListRequest;
import io.gpupool.runtime.EventLoop;
import io.gpupool.runtime.StateChangeLogger;
import io.grpc.ManagedChannel;
import io.grpc.StatusRuntimeException;
import java.time.Clock;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The driver's part in the controller. It publishes the devices to Kubernetes and leases those that
 * are allocated. A cluster runs one at a time. Started and closed by any thread; works on its own
 * thread.
 */
public final class DraController implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(DraController.class);

  private final KubernetesClient client;
  private final DraOptions options;
  private final EventLoop thread = new EventLoop("gpupool-claims");
  private final StateChangeLogger problems = new StateChangeLogger(LOG);
  private final ClaimPool pool;
  private final SlicePublisher publisher;
  private final ClaimLeases leases;
  private final SharedIndexInformer<ResourceClaim> claims;

  private DraController(
      KubernetesClient client,
      Supplier<ManagedChannel> connect,
      byte[] leaseKey,
      DraOptions options) {
    this.client = client;
    this.options = options;
    pool = new ClaimPool(client, connect, leaseKey, options, thread);
    publisher = new SlicePublisher(client, options, Clock.systemUTC());
    leases = new ClaimLeases(pool, options.retry());
    claims = client.resources(ResourceClaim.class).inAnyNamespace().runnableInformer(0);
  }

  /**
   * Starts the driver. It returns at once; whatever cannot be reached is retried.
   *
   * @param client not closed with this
   * @param connect opens a connection to the pool's control plane, with an admin's credentials; the
   *     connections are closed with this
   * @param leaseKey the key of request ids; the same at each start
   */
  public static DraController start(
      KubernetesClient client,
      Supplier<ManagedChannel> connect,
      byte[] leaseKey,
      DraOptions options) {
    DraController controller = new DraController(client, connect, leaseKey, options);
    controller.thread.execute(controller::publish);
    controller.thread.after(options.sweep(), controller::sweep);
    controller.claims.addEventHandler(controller.new Changes());
    controller.claims.exceptionHandler((started, failure) -> true).start();
    return controller;
  }

  /** Returns whether the claims are known. */
  public boolean isReady() {
    return claims.hasSynced();
  }

  private void publish() {
    try {
      pool.refresh();
      publisher.publish(SlicePlan.of(pool.devices()), pool.servers());
      problems.anew();
    } catch (StatusRuntimeException e) {
      problems.warn("the pool does not tell what it has: " + e.getMessage());
    } catch (KubernetesClientException e) {
      problems.warn("the API server does not take what devices there are: " + e.getMessage());
    } catch (RuntimeException e) {
      LOG.error("publishing ResourceSlices failed; it is retried", e);
    } finally {
      thread.after(options.look(), this::publish);
    }
  }

  private void sweep() {
    try {
      if (claims.hasSynced() && claims.isWatching()) {
        leases.sweep(
            pool.blocking().listLeases(ListRequest.getDefaultInstance()),
            options.holder(),
            this::isUsed);
      }
    } catch (StatusRuntimeException | KubernetesClientException e) {
      LOG.debug("leases are compared with claims later", e);
    } catch (RuntimeException e) {
      LOG.error("reconciling leases with claims failed; it is retried", e);
    } finally {
      thread.after(options.sweep(), this::sweep);
    }
  }

  /** Asks the API server itself, because the watched state may be old. */
  private boolean isUsed(LeaseInfo lease) {
    ResourceClaim claim =
        client
            .resources(ResourceClaim.class)
            .inNamespace(lease.getPod().getNamespace())
            .withName(lease.getHolder().getProgram())
            .get();
    return claim != null
        && ClaimReading.of(claim) instanceof ClaimReading.Wanted wanted
        && DraNames.claim(wanted.uid()).equals(lease.getPod().getContainers(0))
        && wanted.pod().uid().equals(lease.getPod().getUid());
  }

  /** Lets all leases go without ending them; the next controller takes them over. */
  @Override
  public void close() {
    claims.stop();
    thread.execute(leases::close);
    thread.close();
    pool.close();
  }

  /** The recipient of changes of claims. */
  private final class Changes implements ResourceEventHandler<ResourceClaim> {
    @Override
    public void onAdd(ResourceClaim claim) {
      look(claim, ClaimReading.of(claim));
    }

    @Override
    public void onUpdate(ResourceClaim before, ResourceClaim claim) {
      look(claim, ClaimReading.of(claim));
    }

    @Override
    public void onDelete(ResourceClaim claim, boolean unknown) {
      look(claim, new ClaimReading.Nothing());
    }

    private void look(ResourceClaim claim, ClaimReading reading) {
      thread.execute(() -> leases.look(claim.getMetadata().getUid(), reading));
    }
  }
}
