// SPDX-License-Identifier: Apache-2.0
package io.gpupool.deploy.chart;

import java.util.List;

/** Values for the chart, as YAML, that its users may have. */
public final class ValueSets {
  private ValueSets() {}

  /** Everything that can be switched on at once. */
  public static final String EVERYTHING =
      """
      commonLabels: {team: gpu}
      image: {repository: registry.example/gpupool, tag: v1, pullSecrets: [pull]}
      log: {level: debug, format: json}
      controller:
        {cluster: c1, priorityClassName: high, podAnnotations: {a: b}, extraArgs: [--x], env: [{name: A, value: b}],
         nodeSelector: {role: infra}, tolerations: [{operator: Exists}]}
      webhook:
        excludedNamespaces: [kube-system, other]
        namespaceSelector: {matchLabels: {gpus: "yes"}, matchExpressions: [{key: k, operator: Exists}]}
        objectSelector: {matchLabels: {gpus: "yes"}}
      node:
        {priorityClassName: high, seLinuxOptions: {type: spc_t}, nodeSelector: {gpus: "yes"}, podAnnotations: {a: b},
         extraArgs: [--x], env: [{name: A, value: b}], affinity: {nodeAffinity: {}}}
      server:
        replicas: 3
        gpus: {kind: soft, count: 2, memory: 1Gi}
        labels: {zone: a}
        etcd: {endpoints: ["e1:2379", "e2:2379"], tlsSecret: etcd}
        updateStrategy: RollingUpdate
        runtimeClassName: nvidia
        priorityClassName: high
        resources: {requests: {cpu: 1, memory: 2Gi}}
        affinity: {podAntiAffinity: {}}
        nodeSelector: {gpu: "yes"}
        tolerations: [{key: nvidia.com/gpu, operator: Exists}]
        podAnnotations: {a: b}
        extraArgs: [--soft-missing-ptx=skip]
        env: [{name: A, value: b}]
      keda: {enabled: true, tokenSecret: {name: scaler}}
      monitoring: {podMonitor: true, labels: {release: prometheus}, tokenSecret: {name: scrape}}
      networkPolicy: {enabled: true, nodes: [10.0.0.0/16], from: [{namespaceSelector: {matchLabels: {name: keda}}}]}
      """;

  public static final List<String> ALL =
      List.of(
          "{}",
          EVERYTHING,
          EVERYTHING + "certManager: {enabled: true}\n",
          "{certManager: {enabled: true, issuerRef: {kind: ClusterIssuer, name: ours}}}",
          "{pool: {address: \"tls://gpu-1,gpu-2:7642\"}}",
          "{node: {enabled: false, cdiFolder: \"\"}, fullnameOverride: other}",
          "{server: {gpus: {kind: soft}, persistence: {enabled: false}}, controller: {replicas: 1}}");
}
