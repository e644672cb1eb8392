// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.certificates;

import io.fabric8.kubernetes.api.model.Secret;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientException;
import io.gpupool.k8s.api.Failures;
import io.gpupool.runtime.BackgroundThread;
import java.net.HttpURLConnection;
import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A keeper of a release's certificates: it makes them and renews them in time. A cluster has one;
 * if there are two for a moment, the API server lets only one write. It has its own thread; started
 * and closed by any thread.
 */
public final class CertificateKeeper implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(CertificateKeeper.class);
  private static final Duration USUALLY = Duration.ofMinutes(1);
  private static final Duration AGAIN = Duration.ofSeconds(5);
  private static final Duration SOON = Duration.ofMillis(200);

  private final ClusterObjects objects;
  private final String authoritySecret;
  private final List<Service> services;
  private final Lifetimes lifetimes;
  private final Clock clock;
  private final BackgroundThread thread;
  private String failure = "";

  CertificateKeeper(
      KubernetesClient client, String release, String namespace, Lifetimes lifetimes, Clock clock) {
    objects = new ClusterObjects(client, release, namespace);
    authoritySecret = release + "-ca";
    services = Service.ofRelease(release, namespace);
    this.lifetimes = lifetimes;
    this.clock = clock;
    thread = new BackgroundThread(Thread.ofPlatform().name("certificates").daemon(), this::run);
  }

  /**
   * Makes missing certificates, and checks every minute whether something is due.
   *
   * @param client not closed with this
   * @param release the prefix of the objects' names
   */
  public static CertificateKeeper start(
      KubernetesClient client, String release, String namespace, Lifetimes lifetimes) {
    CertificateKeeper keeper =
        new CertificateKeeper(client, release, namespace, lifetimes, Clock.systemUTC());
    keeper.thread.start();
    return keeper;
  }

  private void run() {
    try {
      while (true) {
        Thread.sleep(look());
      }
    } catch (InterruptedException e) {
      // Closed.
    }
  }

  private Duration look() {
    try {
      keep();
      failure = "";
      return USUALLY;
    } catch (KubernetesClientException e) {
      if (e.getCode() == HttpURLConnection.HTTP_CONFLICT) {
        LOG.debug("another has changed it meanwhile", e);
        return SOON;
      }
      tell("certificates cannot be kept, it is tried again: " + Failures.reason(e));
    } catch (RuntimeException e) {
      tell("certificates cannot be kept, it is tried again: " + e);
    }
    return AGAIN;
  }

  private void tell(String text) {
    if (!text.equals(failure) && !Thread.currentThread().isInterrupted()) {
      LOG.error(text);
      failure = text;
    }
  }

  /**
   * Does everything that is due now. The order keeps everyone connected: roots are announced before
   * anything that they sign is used.
   *
   * @throws KubernetesClientException if the API server fails a request; finished steps stay valid,
   *     and the next call goes on from there
   * @throws MissingObjectException if an object of the chart is missing
   */
  void keep() {
    Instant now = clock.instant();
    Secret secret = objects.secret(authoritySecret);
    Authority found = Authority.read(ClusterObjects.text(secret));
    Authority authority = found.renewed(now, lifetimes);
    if (!authority.equals(found)) {
      secret = objects.replace(secret, authority.data());
      LOG.info("certificates come from {} now", describe(authority));
    }
    if (objects.tell(authority.rootsPem())) {
      LOG.info("published a CA bundle of {} certificates", authority.roots().size());
    }
    Authority told = authority.told(now, lifetimes);
    if (!told.equals(authority)) {
      objects.replace(secret, told.data());
    }
    Credential root = Objects.requireNonNull(told.current());
    for (Service service : services) {
      renew(service, root, now);
    }
  }

  private void renew(Service service, Credential root, Instant now) {
    Secret secret = objects.secret(service.secret());
    Map<String, String> data = ClusterObjects.text(secret);
    Optional<Credential> shown = ServedCertificate.read(data);
    boolean good =
        shown.isPresent()
            && !shown.get().isDue(now)
            && shown.get().isSignedBy(root.certificate().getPublicKey())
            && ServedCertificate.names(shown.get()).equals(service.names());
    if (good) {
      return;
    }
    Credential made = Issuer.leaf(root, service.secret(), service.names(), now, lifetimes.leaf());
    objects.replace(secret, ServedCertificate.data(made));
    LOG.info("{} has a new certificate, valid until {}", service.secret(), made.until());
  }

  private static String describe(Authority authority) {
    Credential next = authority.next();
    return "a root valid until "
        + Objects.requireNonNull(authority.current()).until()
        + (next == null ? "" : ", soon from one valid until " + next.until());
  }

  /** Waits until nothing is being written any more. */
  @Override
  public void close() {
    thread.close();
  }
}
