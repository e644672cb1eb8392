// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.command.node;

import io.fabric8.kubernetes.api.model.apps.DaemonSet;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientException;
import io.gpupool.k8s.api.Failures;
import io.gpupool.runtime.BackOff;
import java.net.HttpURLConnection;
import java.time.Duration;
import java.util.Set;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The DaemonSet that a node's process belongs to. It tells an upgrade from the end of the release.
 * It has its own thread; for any thread.
 */
final class OwnDaemonSet implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(OwnDaemonSet.class);
  private static final Duration FIRST_PAUSE = Duration.ofSeconds(1);
  private static final Duration LONGEST_PAUSE = Duration.ofSeconds(30);
  // The release's rights and account go at the same time as the DaemonSet.
  private static final Set<Integer> NO_MORE =
      Set.of(HttpURLConnection.HTTP_UNAUTHORIZED, HttpURLConnection.HTTP_FORBIDDEN);

  private final KubernetesClient client;
  private final String namespace;
  private final String name;
  private final Thread thread;
  private volatile boolean seen;

  private OwnDaemonSet(KubernetesClient client, String namespace, String name) {
    this.client = client;
    this.namespace = namespace;
    this.name = name;
    thread = Thread.ofVirtual().name("daemon-set").unstarted(this::run);
  }

  /**
   * Starts to look for the DaemonSet, until it has been seen once.
   *
   * @param client a client with short requests, because a pod that ends is not waited for long; not
   *     closed with this
   */
  static OwnDaemonSet look(KubernetesClient client, String namespace, String name) {
    OwnDaemonSet set = new OwnDaemonSet(client, namespace, name);
    set.thread.start();
    return set;
  }

  private void run() {
    boolean told = false;
    BackOff pauses = BackOff.exact(FIRST_PAUSE, LONGEST_PAUSE);
    try {
      while (!seen) {
        try {
          seen = get() != null;
          if (seen) {
            LOG.info(
                "of DaemonSet {}/{}: once that is gone, nothing is left on the node",
                namespace,
                name);
          }
        } catch (KubernetesClientException e) {
          if (!told && !Thread.currentThread().isInterrupted()) {
            told = true;
            LOG.warn(
                "DaemonSet {}/{} cannot be asked for, so its end would not be known and what is"
                    + " on the node would stay there: {}",
                namespace,
                name,
                Failures.reason(e));
          }
        }
        if (!seen) {
          Thread.sleep(pauses.next());
        }
      }
    } catch (InterruptedException e) {
      // Closed.
    }
  }

  /** Returns whether it is certainly gone or going, so that no other process follows. */
  boolean isGone() {
    if (!seen) {
      return false;
    }
    try {
      DaemonSet set = get();
      return set == null || set.getMetadata().getDeletionTimestamp() != null;
    } catch (KubernetesClientException e) {
      return NO_MORE.contains(e.getCode());
    }
  }

  private DaemonSet get() {
    return client.apps().daemonSets().inNamespace(namespace).withName(name).get();
  }

  @Override
  public void close() {
    thread.interrupt();
  }
}
