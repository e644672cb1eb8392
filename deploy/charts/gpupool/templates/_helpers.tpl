{{- define "gpupool.name" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- $chart := default .Chart.Name .Values.nameOverride -}}
{{- ternary .Release.Name (printf "%s-%s" .Release.Name $chart) (contains $chart .Release.Name) | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "gpupool.selector" -}}
app.kubernetes.io/name: gpupool
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "gpupool.labels" -}}
{{ include "gpupool.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- /* The release's own objects never wait for its webhook. */}}
gpupool.io/admission: ignore
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "gpupool.podLabels" -}}
{{ include "gpupool.selector" . }}
gpupool.io/admission: ignore
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "gpupool.image" -}}
image: {{ printf "%s:%s" .Values.image.repository (default .Chart.AppVersion .Values.image.tag) | quote }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
{{- end -}}

{{- define "gpupool.pullSecrets" -}}
imagePullSecrets:
  {{- range .Values.image.pullSecrets }}
  - name: {{ . }}
  {{- end }}
{{- end -}}

{{- /* Whether the pool's servers are this release's. */ -}}
{{- define "gpupool.servers" -}}
{{- if not .Values.pool.address }}true{{ end -}}
{{- end -}}

{{- define "gpupool.pool" -}}
{{- if .Values.pool.address -}}
{{ .Values.pool.address }}
{{- else -}}
tls://{{ include "gpupool.name" . }}-server.{{ .Release.Namespace }}.svc:7642
{{- end -}}
{{- end -}}

{{- /* Whether there is a file with the roots of the pool's certificates. */ -}}
{{- define "gpupool.poolCa" -}}
{{- if or (include "gpupool.servers" .) .Values.pool.ca }}true{{ end -}}
{{- end -}}

{{- define "gpupool.poolArgs" -}}
- --pool={{ include "gpupool.pool" . }}
{{- if include "gpupool.poolCa" . }}
- --tls-ca=/etc/gpupool/ca/ca.crt
{{- end }}
{{- if .Values.pool.insecure }}
- --insecure
{{- end }}
- --token-file=/var/run/secrets/gpupool.io/token
{{- end -}}

{{- define "gpupool.tokenMount" -}}
- name: token
  mountPath: /var/run/secrets/gpupool.io
  readOnly: true
{{- end -}}

{{- define "gpupool.tokenVolume" -}}
- name: token
  projected:
    sources:
      - serviceAccountToken:
          path: token
          audience: {{ .Values.pool.audience | quote }}
          expirationSeconds: 3600
{{- end -}}

{{- define "gpupool.caMount" -}}
- name: ca
  mountPath: /etc/gpupool/ca
  readOnly: true
{{- end -}}

{{- /* Whether the roots are those that the controller makes. */ -}}
{{- define "gpupool.ownRoots" -}}
{{- if and (include "gpupool.servers" .) (not .Values.pool.ca) (not .Values.certManager.enabled) }}true{{ end -}}
{{- end -}}

{{- /* The roots: of a pool elsewhere as the values have them, cert-manager's, or the controller's. */ -}}
{{- define "gpupool.caVolume" -}}
- name: ca
{{- if .Values.pool.ca }}
  configMap:
    name: {{ include "gpupool.name" . }}-pool
{{- else if .Values.certManager.enabled }}
  secret:
    secretName: {{ include "gpupool.name" . }}-server-tls
    items:
      - {key: ca.crt, path: ca.crt}
{{- else }}
  configMap:
    name: {{ include "gpupool.name" . }}-ca
    items:
      - {key: ca.crt, path: ca.crt}
{{- end }}
{{- end -}}

{{- define "gpupool.logEnv" -}}
- name: GPUPOOL_LOG
  value: {{ .Values.log.level }}
- name: GPUPOOL_LOG_FORMAT
  value: {{ .Values.log.format }}
{{- end -}}

{{- define "gpupool.podDisruptionBudgetVersion" -}}
{{- semverCompare ">=1.21-0" .Capabilities.KubeVersion.Version | ternary "policy/v1" "policy/v1beta1" -}}
{{- end -}}

{{- /* Whether API servers can tell by themselves which objects ask for GPUs. */ -}}
{{- define "gpupool.conditions" -}}
{{- if semverCompare ">=1.30-0" .Capabilities.KubeVersion.Version }}true{{ end -}}
{{- end -}}

{{- define "gpupool.etcd" -}}
{{- $etcd := .Values.server.etcd -}}
etcd://{{ join "," $etcd.endpoints }}/{{ $etcd.prefix }}
{{- end -}}

{{- /* A duration such as 90s, 5m or 1h30m in seconds. */ -}}
{{- define "gpupool.seconds" -}}
{{- $seconds := 0 -}}
{{- range regexFindAll "[0-9]+[smhd]" . -1 -}}
{{- $unit := trimPrefix (regexFind "[0-9]+" .) . -}}
{{- $seconds = add $seconds (mul (regexFind "[0-9]+" .) (get (dict "s" 1 "m" 60 "h" 3600 "d" 86400) $unit)) -}}
{{- end -}}
{{- $seconds -}}
{{- end -}}
