// SPDX-License-Identifier: Apache-2.0
package io.gpupool.e2e.kubernetes;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * A pool outside of a real Kubernetes: its server, started as the chart says, believes the
 * cluster's tokens, and has a certificate of an authority of its own.
 */
class PoolElsewhereIT {
  private static final String ADDRESS = "10.85.0.1";
  private static final String API = "https://10.85.0.1:16443";
  private static final Duration START = Duration.ofMinutes(1);

  @TempDir private static Path folder;
  private static ClusterWithPool pool;

  @BeforeAll
  static void install() throws IOException {
    TwoNodes.assumeWanted();
    pool = ClusterWithPool.start(1, folder, 1, PoolElsewhereIT::values);
  }

  private static String values(Cluster cluster) throws IOException {
    Path certificate = folder.resolve("ca.pem");
    Path key = folder.resolve("key.pem");
    Shell.Ended made =
        Shell.run(
            START,
            "sh",
            "-c",
            "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj"
                + " /CN=pool -addext subjectAltName=IP:%s -keyout %s -out %s"
                    .formatted(ADDRESS, key, certificate));
    assertThat(made.status()).as("%s", made).isZero();
    cluster.kubectlPrints("create", "serviceaccount", "pool", "-n", "default");
    cluster.kubectlPrints(
        "create",
        "clusterrolebinding",
        "pool",
        "--clusterrole=system:service-account-issuer-discovery",
        "--serviceaccount=default:pool");
    Path token =
        Files.writeString(
            folder.resolve("token"),
            cluster.kubectlPrints("create", "token", "pool", "-n", "default", "--duration=2h"));
    Path roots =
        Files.writeString(
            folder.resolve("cluster.pem"),
            cluster.kubectlPrints(
                "get",
                "configmap",
                "kube-root-ca.crt",
                "-n",
                "default",
                "-o",
                "jsonpath={.data.ca\\.crt}"));
    Path log = folder.resolve("server.log");
    cluster.startOnNode(
        Cluster.NODE,
        log,
        ("exec %s server --name gpu-1 --host %2$s --listen %2$s --no-http --state %3$s/state"
                + " --gpus soft:1,mem=4Gi --tls-cert %4$s --tls-key %5$s --kubernetes"
                + " --kubernetes-api=%6$s --kubernetes-ca=%7$s --kubernetes-token=%8$s"
                + " --kubernetes-admin=%9$s/gpupool-controller"
                + " --kubernetes-reader=%9$s/gpupool-node")
            .formatted(
                Cluster.DEPLOY.resolve("target/gpupool/bin/gpupool"),
                ADDRESS,
                folder,
                certificate,
                key,
                API,
                roots,
                token,
                Installation.NAMESPACE));
    Later.is(() -> assertThat(Files.readString(log)).contains(" ready: control "));
    return """
    pool:
      address: tls://%s
      ca: "%s"
    """
        .formatted(ADDRESS, Files.readString(certificate).replace("\n", "\\n"));
  }

  @AfterAll
  static void end() {
    if (pool != null) {
      pool.close();
      pool = null;
    }
  }

  @Test
  void pod_computesOnTheServerElsewhere() {
    Pods pods = pool.pods();
    pods.make("pod", Pods.spec("0.5", pods.computesAndStays()));
    pods.awaitStays("pod");
    assertThat(pool.gpupool().inController("gpupool", "lease", "list")).contains("gpu-1/0");
    pool.deletePods(Duration.ofMinutes(1));
  }
}
