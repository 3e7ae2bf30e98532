{{- define "medley.name" -}}
{{- if contains .Chart.Name .Release.Name }}{{ .Release.Name }}{{ else }}{{ .Release.Name }}-{{ .Chart.Name }}{{ end -}}
{{- end }}

{{- define "medley.selector" -}}
app.kubernetes.io/name: {{ .root.Chart.Name }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .part }}
{{- end }}

{{- define "medley.labels" -}}
{{ include "medley.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ .root.Chart.Name }}-{{ .root.Chart.Version }}
{{- end }}

{{- define "medley.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{/* What all pods have in common: a user of their own, no rights, no service account. */}}
{{- define "medley.pod" -}}
automountServiceAccountToken: false
enableServiceLinks: false
securityContext:
  runAsNonRoot: true
  runAsUser: 1000
  runAsGroup: 1000
  fsGroup: 1000
  fsGroupChangePolicy: OnRootMismatch
  seccompProfile: {type: RuntimeDefault}
{{- with .Values.image.pullSecrets }}
imagePullSecrets:
{{- range . }}
  - name: {{ . }}
{{- end }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.affinity }}
affinity: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "medley.container" -}}
image: {{ include "medley.image" . | quote }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
{{- end }}

{{/* Copies tokens into a home that has none; the home is a folder below the volume, which belongs to root. */}}
{{- define "medley.first-tokens" -}}
- name: first-tokens
  {{- include "medley.container" .root | nindent 2 }}
  command:
    - sh
    - -c
    - umask 077 && mkdir -p "$MEDLEY_HOME" && { test -e "$MEDLEY_HOME/tokens.json" || cp "$FIRST_TOKENS" "$MEDLEY_HOME/tokens.json"; }
  env:
    - {name: MEDLEY_HOME, value: /var/lib/medley/home}
    - {name: FIRST_TOKENS, value: /run/tokens/{{ .key }}}
  volumeMounts:
    - {name: home, mountPath: /var/lib/medley}
    - {name: tokens, mountPath: /run/tokens, readOnly: true}
  resources:
    requests: {cpu: 10m, memory: 32Mi}
    limits: {memory: 64Mi}
{{- end }}

{{- define "medley.settings" -}}
{{- range $name, $value := .Values.settings }}
- {name: {{ $name }}, value: {{ $value | toString | quote }}}
{{- end }}
{{- end }}

{{/* The settings of the gateway and the workers. */}}
{{- define "medley.search-settings" -}}
- {name: MEDLEY_HOME, value: /var/lib/medley/home}
- {name: MEDLEY_OPENSEARCH, value: {{ required "opensearch.address is required, such as https://opensearch:9200" .Values.opensearch.address | quote }}}
- {name: MEDLEY_OPENSEARCH_PREFIX, value: {{ .Values.opensearch.prefix | quote }}}
{{- if .Values.opensearch.passwordSecret }}
- {name: MEDLEY_OPENSEARCH_USER, value: {{ .Values.opensearch.user | quote }}}
- {name: MEDLEY_OPENSEARCH_PASSWORD_FILE, value: /run/secrets/medley/opensearch-password}
{{- end }}
{{- if .Values.opensearch.caSecret }}
- {name: MEDLEY_OPENSEARCH_CA, value: /run/secrets/medley/ca.pem}
{{- end }}
{{- if .Values.redis.address }}
- {name: MEDLEY_REDIS, value: {{ .Values.redis.address | quote }}}
{{- if .Values.redis.passwordSecret }}
- {name: MEDLEY_REDIS_PASSWORD_FILE, value: /run/secrets/medley/redis-password}
{{- end }}
{{- end }}
{{- if .Values.inference.enabled }}
- {name: MEDLEY_INFERENCE, value: "http://{{ include "medley.name" . }}-inference:8081"}
{{- else if .Values.inference.address }}
- {name: MEDLEY_INFERENCE, value: {{ .Values.inference.address | quote }}}
{{- end }}
{{- if .Values.tokens.inferenceSecret }}
- {name: MEDLEY_INFERENCE_TOKEN_FILE, value: /run/secrets/medley/inference-token}
{{- end }}
{{- include "medley.settings" . }}
{{- end }}

{{- define "medley.has-secrets" -}}
{{- if or .Values.opensearch.passwordSecret .Values.opensearch.caSecret .Values.redis.passwordSecret .Values.tokens.inferenceSecret }}yes{{ end }}
{{- end }}

{{- define "medley.secret-volume" -}}
- name: secrets
  projected:
    defaultMode: 0440
    sources:
{{- with .Values.opensearch.passwordSecret }}
      - secret: {name: {{ . }}, items: [{key: opensearch-password, path: opensearch-password}]}
{{- end }}
{{- with .Values.opensearch.caSecret }}
      - secret: {name: {{ . }}, items: [{key: ca.pem, path: ca.pem}]}
{{- end }}
{{- if .Values.redis.address }}{{ with .Values.redis.passwordSecret }}
      - secret: {name: {{ . }}, items: [{key: redis-password, path: redis-password}]}
{{- end }}{{ end }}
{{- with .Values.tokens.inferenceSecret }}
      - secret: {name: {{ . }}, items: [{key: inference-token, path: inference-token}]}
{{- end }}
{{- end }}
