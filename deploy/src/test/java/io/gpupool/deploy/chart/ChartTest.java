// SPDX-License-Identifier: Apache-2.0
package io.gpupool.deploy.chart;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.marcnuri.helm.Helm;
import com.marcnuri.helm.LintResult;
import io.fabric8.kubernetes.api.model.ConfigMap;
import io.fabric8.kubernetes.api.model.HasMetadata;
import io.fabric8.kubernetes.api.model.PodSpec;
import io.fabric8.kubernetes.api.model.Probe;
import io.fabric8.kubernetes.api.model.Secret;
import io.fabric8.kubernetes.api.model.Volume;
import io.fabric8.kubernetes.api.model.apps.StatefulSet;
import io.fabric8.kubernetes.api.model.networking.v1.NetworkPolicy;
import io.fabric8.kubernetes.api.model.policy.v1.PodDisruptionBudget;
import io.fabric8.kubernetes.api.model.rbac.ClusterRole;
import io.fabric8.kubernetes.api.model.rbac.PolicyRule;
import io.fabric8.kubernetes.api.model.rbac.Role;
import io.fabric8.kubernetes.api.model.resource.v1.DeviceClass;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.FieldSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The chart with several sets of values, for old and new versions of Kubernetes. */
class ChartTest {
  private static final Set<String> EMPTY_AT_FIRST =
      Set.of("gpupool-ca", "gpupool-webhook-tls", "gpupool-server-tls", "gpupool-leases");

  @Test
  void chart_linted_hasNoFault() {
    LintResult result = new Helm(Chart.FOLDER).lint().strict().call();
    assertThat(result.isFailed()).as("%s", result.getMessages()).isFalse();
    assertThat(result.getMessages()).noneMatch(message -> message.contains("[WARNING]"));
  }

  @Test
  void chart_packaged_isOfTheProjectsVersion() throws IOException {
    Path folder = Chart.FOLDER.resolve("../../target").normalize();
    new Helm(Chart.FOLDER).packageIt().withDestination(folder).call();
    String pom = Files.readString(Chart.FOLDER.resolve("../../pom.xml"));
    String version = pom.replaceFirst("(?s).*?<version>(.*?)</version>.*", "$1");
    assertThat(folder.resolve("gpupool-" + version + ".tgz")).isNotEmptyFile();
    assertThat(Files.readString(Chart.FOLDER.resolve("Chart.yaml")))
        .contains("appVersion: \"" + version + "\"");
  }

  @ParameterizedTest
  @FieldSource("io.gpupool.deploy.chart.ValueSets#ALL")
  void values_everyVersion_renderToWhatKubernetesKnows(String values) {
    for (String kubernetes : List.of("1.20.2", "1.27.0", "1.30.0", Chart.NEWEST)) {
      Release release = Chart.of(kubernetes).values(values).release();
      assertThat(release.objects())
          .as(kubernetes)
          .hasSizeGreaterThan(10)
          .allSatisfy(object ->
              assertThat(object.getMetadata().getLabels())
                  .containsEntry("app.kubernetes.io/instance", "gpupool")
                  .containsEntry("gpupool.io/admission", "ignore"));
      assertThat(release.objects())
          .extracting(object -> object.getKind() + " " + object.getMetadata().getName())
          .doesNotHaveDuplicates();
    }
  }

  @ParameterizedTest
  @FieldSource("io.gpupool.deploy.chart.ValueSets#ALL")
  void containers_onBusyNode_getTimeAndAreNotEndedForSlowAnswers(String values) throws IOException {
    Release release = Chart.of(Chart.NEWEST).values(values).release();
    assertThat(release.pods())
        .flatExtracting(PodSpec::getContainers)
        .filteredOn(container -> container.getLivenessProbe() != null)
        .isNotEmpty()
        .allSatisfy(container -> {
          assertThat(container.getResources().getRequests()).containsKeys("cpu", "memory");
          assertThat(container.getLivenessProbe().getTimeoutSeconds()).isGreaterThanOrEqualTo(5);
          Probe start = container.getStartupProbe();
          assertThat(start.getPeriodSeconds() * start.getFailureThreshold())
              .isGreaterThanOrEqualTo(300);
        });
  }

  @Test
  void manifest_fieldThatItsKindHasNot_isRefused() {
    String manifest = "kind: Pod\napiVersion: v1\nspec: {containers: [{name: a, imagePolicy: b}]}";
    assertThatThrownBy(() -> Manifests.read(manifest))
        .isInstanceOf(AssertionError.class)
        .hasMessageContaining("imagePolicy");
  }

  /**
   * A server that could write to the agent's folder could replace the shim of the node's programs.
   */
  @Test
  void server_onNodesWithAgents_hasAFolderForItsSocketAndNoMoreOfTheAgents() {
    PodSpec server = Chart.of(Chart.NEWEST).release().server();
    assertThat(Release.arguments(server)).contains("--local-socket=/run/gpupool/streams");
    assertThat(Release.container(server).getVolumeMounts())
        .filteredOn(mount -> mount.getName().equals("agent"))
        .singleElement()
        .satisfies(mount -> {
          assertThat(mount.getMountPath()).isEqualTo("/run/gpupool/streams");
          assertThat(mount.getSubPath()).isEqualTo("streams");
        });
    assertThat(server.getInitContainers()).hasSize(1);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "{server: {localStreams: false}}",
        "{node: {enabled: false}}",
        "{node: {seLinuxOptions: {type: spc_t}}}"
      })
  void server_withoutAFolderToShare_hasNoSocket(String values) {
    PodSpec server = Chart.of(Chart.NEWEST).values(values).release().server();
    assertThat(Release.arguments(server)).noneMatch(text -> text.startsWith("--local-socket"));
    assertThat(server.getInitContainers()).isNullOrEmpty();
    assertThat(server.getVolumes()).noneMatch(volume -> volume.getHostPath() != null);
  }

  @Test
  void claims_switchedOn_haveClassRightsAndOptions() {
    Release release =
        Chart.of(Chart.NEWEST).values("{dra: {enabled: true, partition: set-aside}}").release();
    assertThat(release.only(DeviceClass.class, "gpupool.io").getSpec().getSelectors()).hasSize(1);
    assertThat(release.only(ClusterRole.class, "gpupool-controller").getRules())
        .filteredOn(rule -> rule.getApiGroups().contains("resource.k8s.io"))
        .extracting(rule -> rule.getResources().getFirst())
        .containsExactly("resourceslices", "deviceclasses", "resourceclaims");
    assertThat(Release.arguments(release.controller()))
        .contains("--dra", "--dra-partition=set-aside");
    assertThat(Release.arguments(release.node())).contains("--dra");
  }

  @Test
  void claims_beforeKubernetesHadThem_areRefused() {
    assertThatThrownBy(() -> Chart.of("1.33.0").values("{dra: {enabled: true}}").release())
        .hasMessageContaining("1.34");
  }

  @ParameterizedTest
  @CsvSource({"1.20.2, policy/v1beta1", "1.21.0, policy/v1", "1.34.0, policy/v1"})
  void disruptionBudgets_eachVersion_areOfWhatItServes(String kubernetes, String version) {
    Release release = Chart.of(kubernetes).release();
    assertThat(release.objects())
        .filteredOn(object -> object.getKind().equals("PodDisruptionBudget"))
        .extracting(HasMetadata::getApiVersion)
        .containsExactly(version, version);
  }

  @Test
  void stateOfTheController_atFirst_isThereAndEmpty() {
    Release release = Chart.of(Chart.NEWEST).release();
    assertThat(release.all(Secret.class))
        .extracting(secret -> secret.getMetadata().getName())
        .containsExactlyInAnyOrderElementsOf(EMPTY_AT_FIRST);
    assertThat(release.all(Secret.class))
        .allSatisfy(secret -> {
          assertThat(secret.getData()).isNullOrEmpty();
          assertThat(secret.getStringData()).isNullOrEmpty();
        });
    assertThat(release.only(ConfigMap.class, "gpupool-ca").getData()).isNullOrEmpty();
  }

  @Test
  void rights_ofTheController_nameWhatTheyAreFor() {
    Release release = Chart.of(Chart.NEWEST).release();
    Role role = release.only(Role.class, "gpupool-controller");
    assertThat(role.getRules())
        .allSatisfy(rule -> {
          assertThat(rule.getResourceNames()).isNotEmpty();
          assertThat(rule.getVerbs()).doesNotContain("create", "delete", "list", "*");
        });
    List<PolicyRule> everywhere =
        release.only(ClusterRole.class, "gpupool-controller").getRules().stream()
            .filter(rule -> rule.getResourceNames().isEmpty())
            .toList();
    assertThat(everywhere)
        .allSatisfy(rule -> assertThat(rule.getVerbs()).doesNotContain("update", "delete", "*"))
        .flatExtracting(PolicyRule::getResources)
        .containsExactlyInAnyOrder("pods", "pods/status", "events", "namespaces", "nodes");
    assertThat(release.only(ClusterRole.class, "gpupool-server").getRules())
        .allSatisfy(rule -> assertThat(rule.getResources()).isEmpty());
    assertThat(release.only(Role.class, "gpupool-node").getRules())
        .hasSize(1)
        .allSatisfy(rule -> {
          assertThat(rule.getResourceNames()).containsExactly("gpupool-node");
          assertThat(rule.getVerbs()).containsExactly("get");
        });
  }

  @Test
  void containers_any_haveNoMoreThanTheyNeed() {
    Release release = Chart.of(Chart.NEWEST).release();
    for (PodSpec pod : List.of(release.controller(), release.server(), release.node())) {
      var context = Release.container(pod).getSecurityContext();
      assertThat(context.getReadOnlyRootFilesystem()).isTrue();
      assertThat(context.getAllowPrivilegeEscalation()).isFalse();
      assertThat(context.getPrivileged()).isNull();
      assertThat(context.getCapabilities().getDrop()).containsExactly("ALL");
      assertThat(pod.getSecurityContext().getSeccompProfile().getType())
          .isEqualTo("RuntimeDefault");
    }
    for (PodSpec pod : List.of(release.controller(), release.server())) {
      assertThat(pod.getSecurityContext().getRunAsNonRoot()).isTrue();
      assertThat(Release.container(pod).getSecurityContext().getCapabilities().getAdd()).isEmpty();
    }
    Release apart = Chart.of(Chart.NEWEST).values("{server: {localStreams: false}}").release();
    for (PodSpec pod : List.of(release.controller(), apart.server())) {
      assertThat(pod.getVolumes()).extracting(Volume::getHostPath).containsOnlyNulls();
    }
    assertThat(Release.container(release.node()).getSecurityContext().getCapabilities().getAdd())
        .containsExactly("DAC_READ_SEARCH");
  }

  @Test
  void servers_ofNvidia_haveTheirGpusFromTheCluster() {
    Release release =
        Chart.of(Chart.NEWEST)
            .values("server: {gpus: {count: 4}, resources: {limits: {memory: 8Gi}}}")
            .release();
    assertThat(Release.arguments(release.server()))
        .contains(
            "--gpus=all", "--in-flight-bound=4", "--state=/var/lib/gpupool/state", "--kubernetes")
        .contains("--kubernetes-admin=gpupool-system/gpupool-controller", "--drain-move");
    assertThat(Release.arguments(release.controller())).contains("--drain-move");
    assertThat(Release.container(release.server()).getResources().getLimits())
        .hasEntrySatisfying("nvidia.com/gpu", count -> assertThat(count).hasToString("4"))
        .hasEntrySatisfying("memory", size -> assertThat(size).hasToString("8Gi"));
    StatefulSet servers = release.only(StatefulSet.class, "gpupool-server");
    assertThat(servers.getSpec().getVolumeClaimTemplates()).hasSize(1);
    assertThat(servers.getSpec().getUpdateStrategy().getType()).isEqualTo("OnDelete");
  }

  @Test
  void servers_thatDoNotMoveLeases_areDrainedWithoutThat() {
    Release release = Chart.of(Chart.NEWEST).values("server: {drainMove: false}").release();
    for (PodSpec pod : List.of(release.server(), release.controller())) {
      assertThat(Release.arguments(pod)).doesNotContain("--drain-move");
    }
  }

  @Test
  void servers_inSoftware_askTheClusterForNone() {
    Release release = Chart.of("1.20.2").values(ValueSets.ALL.getLast()).release();
    assertThat(Release.arguments(release.server()))
        .contains("--gpus=soft:1,mem=4Gi")
        .doesNotContain("--in-flight-bound=4");
    assertThat(Release.container(release.server()).getResources().getLimits()).isNullOrEmpty();
    StatefulSet servers = release.only(StatefulSet.class, "gpupool-server");
    assertThat(servers.getSpec().getVolumeClaimTemplates()).isEmpty();
    assertThat(servers.getSpec().getPersistentVolumeClaimRetentionPolicy()).isNull();
    assertThat(release.all(PodDisruptionBudget.class)).isEmpty();
  }

  @Test
  void servers_withEtcd_keepNothingThemselves() {
    Release release = Chart.of(Chart.NEWEST).values(ValueSets.EVERYTHING).release();
    assertThat(Release.arguments(release.server()))
        .contains("--state=etcd://e1:2379,e2:2379/gpupool", "--etcd-ca=/etc/gpupool/etcd/ca.crt")
        .contains("--label=zone=a", "--soft-missing-ptx=skip");
    StatefulSet servers = release.only(StatefulSet.class, "gpupool-server");
    assertThat(servers.getSpec().getVolumeClaimTemplates()).isEmpty();
    assertThat(servers.getSpec().getReplicas()).as("KEDA's to say").isNull();
    assertThat(release.all(NetworkPolicy.class)).hasSize(2);
  }

  @Test
  void pool_elsewhere_isNamedAndNotMade() {
    Release release =
        Chart.of(Chart.NEWEST)
            .values("pool: {address: \"tls://gpu-1\", ca: \"-----BEGIN CERTIFICATE-----\"}")
            .release();
    assertThat(release.all(StatefulSet.class)).isEmpty();
    assertThat(release.only(Role.class, "gpupool-controller").getRules())
        .as("the controller finds that there are none")
        .anyMatch(rule -> rule.getResources().contains("statefulsets"));
    assertThat(Release.arguments(release.node()))
        .contains("--pool=tls://gpu-1", "--tls-ca=/etc/gpupool/ca/ca.crt");
    assertThat(release.only(ConfigMap.class, "gpupool-pool").getData()).containsKey("ca.crt");
    assertThat(
            Release.arguments(
                Chart.of(Chart.NEWEST).values("pool: {address: gpu-1}").release().node()))
        .as("the roots are the image's")
        .noneMatch(argument -> argument.startsWith("--tls-ca"));
  }

  @Test
  void customResources_switchedOn_areRendered() {
    List<String> documents =
        Chart.of(Chart.NEWEST)
            .values(ValueSets.EVERYTHING + "certManager: {enabled: true}\n")
            .documents();
    assertThat(documents.stream().filter(text -> Manifests.read(text).isEmpty()))
        .extracting(text -> text.replaceFirst("(?s).*\\nkind: (\\w+)\\n.*", "$1"))
        .containsOnly(
            "ScaledObject", "TriggerAuthentication", "PodMonitor", "Issuer", "Certificate");
    assertThat(documents)
        .anySatisfy(text ->
            assertThat(text)
                .contains(
                    "kind: ScaledObject", "gpusPerServer: \"2\"", "servers: gpupool-server-"));
    Release release = Chart.of(Chart.NEWEST).values("certManager: {enabled: true}").release();
    assertThat(release.all(Secret.class)).hasSize(1);
    assertThat(Release.arguments(release.controller())).contains("--certificates=none");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "server: {replicas: 2} | server.etcd.endpoints",
        "{keda: {enabled: true, maxReplicas: 1}} | keda.tokenSecret.name",
        "{keda: {enabled: true, tokenSecret: {name: t}}} | server.etcd.endpoints",
        "{keda: {enabled: true}, pool: {address: gpu-1}} | keda.enabled",
        "networkPolicy: {enabled: true} | networkPolicy.nodes",
        "{dra: {enabled: true}, node: {cdiFolder: \"\"}} | node.cdiFolder",
        "server: {drainLimit: 1m, terminationGracePeriodSeconds: 60} | over server.drainLimit",
        "server: {drainLimit: 1m30s, terminationGracePeriodSeconds: 90} | over server.drainLimit",
      })
  void valuesThatDoNotGoTogether_areRefused_withASentence(String values, String says) {
    assertThatThrownBy(() -> Chart.of(Chart.NEWEST).values(values).documents())
        .hasMessageContaining(says.strip());
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "controler: {replicas: 2}",
        "controller: {replica: 2}",
        "controller: {replicas: two}",
        "controller: {replicas: 0}",
        "controller: {grace: ten minutes}",
        "server: {gpus: {kind: amd}}",
        "server: {gpus: {memory: lots}}",
        "server: {etcd: {endpoints: [\"https://e1:2379\"]}}",
        "server: {sharing: mig}",
        "server: {inFlightBoundMillis: 0}",
        "server: {inFlightBoundMillis: 1001}",
        "server: {inFlightBoundMillis: soon}",
        "server: {sandbox: maybe}",
        "webhook: {failurePolicy: Maybe}",
        "webhook: {timeoutSeconds: 60}",
        "node: {kubeletFolder: kubelet}",
        "pool: {address: \"http://gpu-1\"}",
        "pool: {ca: nonsense}",
        "image: {pullPolicy: Sometimes}",
        "certManager: {issuerRef: {kind: Vault}}",
      })
  void valuesOutsideOfTheSchema_areRefused(String values) {
    assertThatThrownBy(() -> Chart.of(Chart.NEWEST).values(values).documents())
        .hasMessageContaining("values don't meet the specifications of the schema");
  }

  @Test
  void everyValue_isExplainedInReadme() throws IOException {
    String readme = Files.readString(Chart.FOLDER.resolve("README.md"));
    try (Stream<String> lines = Files.lines(Chart.FOLDER.resolve("values.yaml"))) {
      assertThat(lines.filter(line -> line.matches("\\w+:.*")).map(line -> line.split(":", 2)[0]))
          .allSatisfy(name -> assertThat(readme).contains("`" + name));
    }
  }
}
