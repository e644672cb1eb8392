// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.command.controller;

import io.fabric8.kubernetes.api.model.coordination.v1.Lease;
import io.fabric8.kubernetes.api.model.coordination.v1.LeaseSpec;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientException;
import io.fabric8.kubernetes.client.extended.leaderelection.resourcelock.LeaderElectionRecord;
import io.fabric8.kubernetes.client.extended.leaderelection.resourcelock.LeaseLock;
import io.gpupool.k8s.api.Failures;
import io.gpupool.runtime.StateChangeLogger;
import java.net.HttpURLConnection;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.ZonedDateTime;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The Lease object of an election. The chart creates it empty, which means that nobody holds it. It
 * is not created if it is missing.
 */
final class ElectionLock extends LeaseLock {
  private static final ZonedDateTime LONG_AGO = Instant.EPOCH.atZone(ZoneOffset.UTC);
  private static final LeaderElectionRecord NOBODY =
      new LeaderElectionRecord("", Duration.ofSeconds(1), LONG_AGO, LONG_AGO, 0);

  private static final Logger LOG = LoggerFactory.getLogger(ElectionLock.class);

  private final String name;
  private final StateChangeLogger problems = new StateChangeLogger(LOG);

  ElectionLock(String namespace, String name, String identity) {
    super(namespace, name, identity);
    this.name = namespace + "/" + name;
  }

  @Override
  public synchronized LeaderElectionRecord get(KubernetesClient client) {
    try {
      LeaderElectionRecord found = super.get(client);
      if (found == null) {
        throw new KubernetesClientException(
            "there is no Lease " + name + ": the chart creates it; 'helm upgrade' brings it back");
      }
      return found;
    } catch (KubernetesClientException e) {
      tell(e);
      throw e;
    } catch (RuntimeException e) {
      // An elector that gets any other exception stays silent from then on.
      KubernetesClientException failure =
          new KubernetesClientException("Lease " + name + " cannot be read: " + e, e);
      tell(failure);
      throw failure;
    }
  }

  @Override
  public synchronized void update(KubernetesClient client, LeaderElectionRecord record) {
    try {
      super.update(client, record);
      problems.anew();
    } catch (KubernetesClientException e) {
      tell(e);
      throw e;
    }
  }

  private void tell(KubernetesClientException failure) {
    boolean lost = failure.getCode() == HttpURLConnection.HTTP_CONFLICT;
    if (!lost) {
      problems.warn("the election fails and is retried: " + Failures.reason(failure));
    }
  }

  @Override
  protected LeaderElectionRecord toRecord(Lease lease) {
    LeaseSpec spec = lease.getSpec();
    boolean nobodys =
        spec == null
            || spec.getLeaseDurationSeconds() == null
            || spec.getAcquireTime() == null
            || spec.getRenewTime() == null;
    return nobodys ? NOBODY : super.toRecord(lease);
  }
}
