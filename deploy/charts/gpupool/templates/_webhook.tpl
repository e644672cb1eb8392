{{- /* What the entries of the configuration have in common. Called with (context, kind, further expressions for namespaces). */ -}}
{{- define "gpupool.webhook" -}}
{{- $root := index . 0 -}}
{{- $kind := index . 1 -}}
{{- $excluded := append $root.Values.webhook.excludedNamespaces $root.Release.Namespace | uniq -}}
{{- $own := list (dict "key" "kubernetes.io/metadata.name" "operator" "NotIn" "values" $excluded) (dict "key" "gpupool.io/admission" "operator" "NotIn" "values" (list "ignore")) -}}
{{- $namespaces := $root.Values.webhook.namespaceSelector -}}
{{- $objects := $root.Values.webhook.objectSelector -}}
admissionReviewVersions: [v1]
sideEffects: None
reinvocationPolicy: IfNeeded
matchPolicy: Equivalent
timeoutSeconds: {{ $root.Values.webhook.timeoutSeconds }}
clientConfig:
  service:
    name: {{ include "gpupool.name" $root }}-webhook
    namespace: {{ $root.Release.Namespace }}
    path: /mutate
    port: 443
namespaceSelector:
  {{- with $namespaces.matchLabels }}
  matchLabels: {{- toYaml . | nindent 4 }}
  {{- end }}
  matchExpressions: {{- concat $own (index . 2) (default (list) $namespaces.matchExpressions) | toYaml | nindent 4 }}
objectSelector:
  {{- with $objects.matchLabels }}
  matchLabels: {{- toYaml . | nindent 4 }}
  {{- end }}
  matchExpressions: {{- concat (list (index $own 1)) (default (list) $objects.matchExpressions) | toYaml | nindent 4 }}
rules:
  {{- if has $kind (list "pods" "all") }}
  - {apiGroups: [""], apiVersions: [v1], resources: [pods], operations: [CREATE, UPDATE], scope: Namespaced}
  {{- end }}
  {{- if has $kind (list "workloads" "all") }}
  - {apiGroups: [apps], apiVersions: [v1], resources: [deployments, replicasets, statefulsets, daemonsets], operations: [CREATE, UPDATE], scope: Namespaced}
  - {apiGroups: [batch], apiVersions: [v1], resources: [jobs], operations: [CREATE, UPDATE], scope: Namespaced}
  {{- end }}
  {{- if has $kind (list "cronjobs" "all") }}
  - {apiGroups: [batch], apiVersions: [v1, v1beta1], resources: [cronjobs], operations: [CREATE, UPDATE], scope: Namespaced}
  {{- end }}
{{- end -}}

{{- /* CEL: whether pods or templates of pods are about GPUs, before or after the change: by labels, annotations, or resources. */ -}}
{{- define "gpupool.asks.pods" -}}
{{ include "gpupool.asks" (dict "pod" "o") }}
{{- end -}}
{{- define "gpupool.asks.workloads" -}}
{{ include "gpupool.asks" (dict "pod" "o.spec.template") }}
{{- end -}}
{{- define "gpupool.asks.cronjobs" -}}
{{ include "gpupool.asks" (dict "pod" "o.spec.jobTemplate.spec.template") }}
{{- end -}}
{{- define "gpupool.asks" -}}
{{- $pod := .pod -}}
{{- $ours := "k.startsWith('gpupool.io/') || k.startsWith('bitfusion.io/')" -}}
[object, oldObject].exists(o, o != null && (
{{- range $i, $map := list "labels" "annotations" -}}
{{- if $i }} || {{ end -}}
(has({{ $pod }}.metadata) && has({{ $pod }}.metadata.{{ $map }}) && {{ $pod }}.metadata.{{ $map }}.exists(k, k.startsWith('gpupool.io/')))
{{- end }} || has({{ $pod }}.spec) && (
{{- range $i, $list := list "containers" "initContainers" "ephemeralContainers" -}}
{{- if $i }} || {{ end -}}
(has({{ $pod }}.spec.{{ $list }}) && {{ $pod }}.spec.{{ $list }}.exists(c, has(c.resources) && (
{{- range $j, $map := list "limits" "requests" -}}
{{- if $j }} || {{ end -}}
(has(c.resources.{{ $map }}) && c.resources.{{ $map }}.exists(k, {{ $ours }}))
{{- end -}}
)))
{{- end }} || (has({{ $pod }}.spec.resources) && (
{{- range $j, $map := list "limits" "requests" -}}
{{- if $j }} || {{ end -}}
(has({{ $pod }}.spec.resources.{{ $map }}) && {{ $pod }}.spec.resources.{{ $map }}.exists(k, {{ $ours }}))
{{- end -}}
)))))
{{- end -}}

{{- /* CEL: whether an object is new, or an update changes what it asks for; others, such as of finalizers, pass without the webhook. */ -}}
{{- define "gpupool.changes.pods" -}}
{{- $lists := list -}}
{{- range $list := list "containers" "initContainers" -}}
{{- $resources := printf "map(c, has(c.resources) ? c.resources : {})" -}}
{{- $lists = append $lists (printf "(has(object.spec.%s) ? object.spec.%s.%s : []) != (has(oldObject.spec.%s) ? oldObject.spec.%s.%s : [])" $list $list $resources $list $list $resources) -}}
{{- end -}}
{{ include "gpupool.changes" (dict "pod" "" "spec" (join " || " $lists)) }}
{{- end -}}
{{- define "gpupool.changes.workloads" -}}
{{ include "gpupool.changes" (dict "pod" ".spec.template" "spec" "object.spec.template.spec != oldObject.spec.template.spec") }}
{{- end -}}
{{- define "gpupool.changes.cronjobs" -}}
{{- $pod := ".spec.jobTemplate.spec.template" -}}
{{ include "gpupool.changes" (dict "pod" $pod "spec" (printf "object%s.spec != oldObject%s.spec" $pod $pod)) }}
{{- end -}}
{{- define "gpupool.changes" -}}
{{- $pod := .pod -}}
oldObject == null || {{ .spec }} || [[object, oldObject], [oldObject, object]].exists(p, has(p[0]{{ $pod }}.metadata) && (
{{- range $i, $map := list "labels" "annotations" -}}
{{- if $i }} || {{ end -}}
(has(p[0]{{ $pod }}.metadata.{{ $map }}) && p[0]{{ $pod }}.metadata.{{ $map }}.exists(k, (k.startsWith('gpupool.io/') || k.contains('bitfusion')) && !(has(p[1]{{ $pod }}.metadata) && has(p[1]{{ $pod }}.metadata.{{ $map }}) && k in p[1]{{ $pod }}.metadata.{{ $map }} && p[1]{{ $pod }}.metadata.{{ $map }}[k] == p[0]{{ $pod }}.metadata.{{ $map }}[k])))
{{- end -}}
))
{{- end -}}
