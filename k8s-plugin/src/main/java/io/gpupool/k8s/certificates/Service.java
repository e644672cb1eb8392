// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.certificates;

import java.util.List;

/**
 * A service that has a certificate.
 *
 * @param secret the Secret of the certificate, which has tls.crt and tls.key
 * @param names the service's host names; one may begin with "*."
 */
record Service(String secret, List<String> names) {
  private static final String DOMAIN = ".cluster.local";

  Service {
    names = List.copyOf(names);
  }

  /** Returns the services of a release of the chart. */
  static List<Service> ofRelease(String release, String namespace) {
    String webhook = webhookHost(release, namespace);
    String server = release + "-server";
    String servers = server + "." + namespace + ".svc";
    return List.of(
        new Service(release + "-webhook-tls", List.of(webhook, webhook + DOMAIN)),
        new Service(
            server + "-tls",
            List.of(
                servers,
                servers + DOMAIN,
                "*." + servers,
                "*." + servers + DOMAIN,
                server,
                server + "." + namespace)));
  }

  /** Returns the host at which the API server finds the webhook. */
  static String webhookHost(String release, String namespace) {
    return release + "-webhook." + namespace + ".svc";
  }
}
