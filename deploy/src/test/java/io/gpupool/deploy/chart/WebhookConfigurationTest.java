// SPDX-License-Identifier: Apache-2.0
package io.gpupool.deploy.chart;

import static org.assertj.core.api.Assertions.assertThat;

import dev.cel.common.types.SimpleType;
import dev.cel.common.values.NullValue;
import dev.cel.compiler.CelCompiler;
import dev.cel.compiler.CelCompilerFactory;
import dev.cel.parser.CelStandardMacro;
import dev.cel.runtime.CelRuntimeFactory;
import io.fabric8.kubernetes.api.model.LabelSelectorRequirement;
import io.fabric8.kubernetes.api.model.admissionregistration.v1.MatchCondition;
import io.fabric8.kubernetes.api.model.admissionregistration.v1.MutatingWebhook;
import io.fabric8.kubernetes.api.model.admissionregistration.v1.MutatingWebhookConfiguration;
import io.fabric8.kubernetes.client.utils.KubernetesSerialization;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** For which objects API servers call the webhook; conditions are evaluated as CEL has them. */
class WebhookConfigurationTest {
  private static final CelCompiler COMPILER =
      CelCompilerFactory.standardCelCompilerBuilder()
          .setStandardMacros(CelStandardMacro.STANDARD_MACROS)
          .addVar("object", SimpleType.DYN)
          .addVar("oldObject", SimpleType.DYN)
          .build();
  private static final KubernetesSerialization YAML = new KubernetesSerialization();

  @ParameterizedTest
  @ValueSource(strings = {"1.20.2", "1.27.0", "1.30.0", Chart.NEWEST})
  void webhook_anyVersion_seesPodsAndWorkloadsOfOthers(String kubernetes) {
    Set<String> resources = new TreeSet<>();
    for (MutatingWebhook webhook : webhooks(kubernetes, "{}")) {
      assertThat(webhook.getSideEffects()).isEqualTo("None");
      assertThat(webhook.getReinvocationPolicy()).isEqualTo("IfNeeded");
      assertThat(webhook.getTimeoutSeconds()).isEqualTo(10);
      assertThat(webhook.getClientConfig().getCaBundle()).as("the controller's to write").isNull();
      assertThat(webhook.getNamespaceSelector().getMatchExpressions())
          .contains(
              new LabelSelectorRequirement(
                  "kubernetes.io/metadata.name", "NotIn", List.of("kube-system", "gpupool-system")),
              new LabelSelectorRequirement("gpupool.io/admission", "NotIn", List.of("ignore")));
      assertThat(webhook.getObjectSelector().getMatchExpressions())
          .containsExactly(
              new LabelSelectorRequirement("gpupool.io/admission", "NotIn", List.of("ignore")));
      webhook
          .getRules()
          .forEach(rule -> {
            assertThat(rule.getOperations()).containsExactly("CREATE", "UPDATE");
            resources.addAll(rule.getResources());
          });
    }
    assertThat(resources)
        .containsExactlyInAnyOrder(
            "pods", "deployments", "replicasets", "statefulsets", "daemonsets", "jobs", "cronjobs");
  }

  @Test
  void webhook_sinceConditions_failsForWhatAsksAlone() {
    assertThat(webhooks("1.30.0", "{}"))
        .hasSize(3)
        .allSatisfy(webhook -> {
          assertThat(webhook.getFailurePolicy()).isEqualTo("Fail");
          assertThat(webhook.getMatchConditions()).hasSize(2);
        });
  }

  @Test
  void webhook_beforeConditions_failsWhereNamespacesSaySo() {
    List<MutatingWebhook> webhooks = webhooks("1.29.0", "{}");
    assertThat(webhooks)
        .extracting(MutatingWebhook::getFailurePolicy)
        .containsExactly("Fail", "Ignore");
    assertThat(webhooks).extracting(MutatingWebhook::getMatchConditions).allMatch(List::isEmpty);
    assertThat(webhooks.get(0).getNamespaceSelector().getMatchExpressions())
        .contains(new LabelSelectorRequirement("gpupool.io/admission", "In", List.of("required")));
    assertThat(webhooks.get(1).getNamespaceSelector().getMatchExpressions())
        .contains(
            new LabelSelectorRequirement("gpupool.io/admission", "NotIn", List.of("required")));
  }

  @Test
  void webhook_valuesNarrowIt_meetsBoth() {
    assertThat(webhooks("1.20.2", ValueSets.EVERYTHING + "certManager: {enabled: true}\n"))
        .allSatisfy(webhook -> {
          assertThat(webhook.getNamespaceSelector().getMatchLabels()).containsEntry("gpus", "yes");
          assertThat(webhook.getNamespaceSelector().getMatchExpressions())
              .contains(new LabelSelectorRequirement("k", "Exists", List.of()));
          assertThat(webhook.getObjectSelector().getMatchLabels()).containsEntry("gpus", "yes");
        });
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "false | {}",
        "false | spec: {containers: [{name: a}]}",
        "false | spec: {containers: [{name: a, resources: {}}]}",
        "false | spec: {containers: [{name: a, resources: {limits: {cpu: 1, nvidia.com/gpu: 1}}}]}",
        "false | {metadata: {labels: {app: a}, annotations: {b: c}}, spec: {containers: []}}",
        "true | spec: {containers: [{name: a, resources: {limits: {gpupool.io/gpu: 0.5}}}]}",
        "true | spec: {containers: [{name: a, resources: {requests: {gpupool.io/gpu: 0.5}}}]}",
        "true | spec: {containers: [{name: a}, {name: b, resources: {limits: {gpupool.io/gpu-percent: 5}}}]}",
        "true | spec: {containers: [{name: a, resources: {limits: {bitfusion.io/gpu-amount: 1}}}]}",
        "true | spec: {containers: [], initContainers: [{name: a, resources: {limits: {gpupool.io/gpu: 1}}}]}",
        "true | spec: {containers: [], resources: {limits: {gpupool.io/gpu: 1}}}",
        "true | {metadata: {annotations: {gpupool.io/request: forged}}, spec: {containers: []}}",
        "true | {metadata: {labels: {gpupool.io/managed: \"true\"}}, spec: {containers: []}}",
      })
  void conditions_podOrTemplate_matchWhatIsAboutGpus(boolean expected, String pod)
      throws Exception {
    assertThat(matches("pods", pod, Optional.empty())).isEqualTo(expected);
    String deployment = "{\"spec\": {\"template\": " + json(pod) + "}}";
    assertThat(matches("workloads", deployment, Optional.empty())).isEqualTo(expected);
    String cronJob = "{\"spec\": {\"jobTemplate\": " + deployment + "}}";
    assertThat(matches("cronjobs", cronJob, Optional.empty())).isEqualTo(expected);
  }

  @Test
  void conditions_updateThatTakesTheLabelAway_match() throws Exception {
    String managed = "{metadata: {labels: {gpupool.io/managed: \"true\"}}, spec: {containers: []}}";
    String plain = "{metadata: {labels: {app: a}}, spec: {containers: []}}";
    assertThat(matches("pods", plain, Optional.of(managed))).isTrue();
    assertThat(matches("pods", managed, Optional.of(managed))).isFalse();
    assertThat(matches("pods", plain, Optional.of(plain))).isFalse();
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "false | {metadata: {finalizers: []}}",
        "false | {metadata: {labels: {app: b, gpupool.io/managed: \"true\"}}}",
        "false | {metadata: {annotations: {gpupool.io/request: r, other: b}}}",
        "false | {status: {phase: Succeeded}}",
        "true | {metadata: {labels: {app: a}}}",
        "true | {metadata: {labels: {app: a, gpupool.io/managed: \"true\", gpupool.io/new: a}}}",
        "true | {metadata: {annotations: {gpupool.io/request: forged}}}",
        "true | {spec: {containers: [{name: a, resources: {limits: {gpupool.io/gpu: 0.2}}}]}}",
        "true | {spec: {containers: [{name: a, resources: {limits: {}}}]}}",
        "true | {spec: {containers: [{name: a}]}}",
      })
  void conditions_update_matchIfItChangesWhatIsAsked(boolean expected, String change)
      throws Exception {
    String old =
        "{metadata: {finalizers: [batch.kubernetes.io/job-tracking], labels: {app: a,"
            + " gpupool.io/managed: \"true\"}, annotations: {gpupool.io/request: r, other: a}}, spec:"
            + " {containers: [{name: a, resources: {limits: {gpupool.io/gpu: 0.5}}}]}, status:"
            + " {phase: Running}}";
    String object = json(merged(old, change));
    assertThat(matches("pods", object, Optional.of(old))).isEqualTo(expected);
    String template = "{\"spec\": {\"replicas\": %d, \"template\": %s}}";
    String before = template.formatted(1, json(old));
    String after = template.formatted(2, object);
    assertThat(matches("workloads", after, Optional.of(before))).isEqualTo(expected);
    String cronJob = "{\"spec\": {\"jobTemplate\": %s}}";
    assertThat(
            matches("cronjobs", cronJob.formatted(after), Optional.of(cronJob.formatted(before))))
        .isEqualTo(expected);
  }

  @Test
  void conditions_templateWithAnotherImage_match() throws Exception {
    String template =
        "{spec: {template: {spec: {containers: [{name: a, image: %s, resources: {limits:"
            + " {gpupool.io/gpu: 0.5}}}]}}}}";
    assertThat(matches("workloads", template.formatted("b"), Optional.of(template.formatted("a"))))
        .isTrue();
  }

  /** The one with what the other says in its place, field by field of the second level. */
  @SuppressWarnings("unchecked")
  private static String merged(String object, String change) {
    Map<String, Map<String, Object>> all = (Map<String, Map<String, Object>>) tree(object);
    ((Map<String, Map<String, Object>>) tree(change))
        .forEach((name, fields) -> all.get(name).putAll(fields));
    return YAML.asYaml(all);
  }

  private static boolean matches(String kind, String object, Optional<String> old)
      throws Exception {
    MutatingWebhook webhook =
        webhooks(Chart.NEWEST, "{}").stream()
            .filter(entry -> entry.getName().equals(kind + ".gpupool.io"))
            .findFirst()
            .orElseThrow();
    Map<String, Object> variables = new HashMap<>();
    variables.put("object", tree(object));
    variables.put("oldObject", old.isPresent() ? tree(old.get()) : NullValue.NULL_VALUE);
    for (MatchCondition condition : webhook.getMatchConditions()) {
      boolean met =
          (boolean)
              CelRuntimeFactory.standardCelRuntimeBuilder()
                  .build()
                  .createProgram(COMPILER.compile(condition.getExpression()).getAst())
                  .eval(variables);
      if (!met) {
        return false;
      }
    }
    return true;
  }

  private static List<MutatingWebhook> webhooks(String kubernetes, String values) {
    return Chart.of(kubernetes)
        .values(values)
        .release()
        .only(MutatingWebhookConfiguration.class, "gpupool")
        .getWebhooks();
  }

  private static Object tree(String yaml) {
    // What begins with a brace would be taken for JSON.
    return YAML.unmarshal("---\n" + yaml, Map.class);
  }

  private static String json(String yaml) {
    return YAML.asJson(tree(yaml));
  }
}
