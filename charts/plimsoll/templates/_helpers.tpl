{{/* The labels of all objects. */}}
{{- define "plimsoll.labels" -}}
app.kubernetes.io/part-of: plimsoll
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service | quote }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" | quote }}
{{- with .Values.commonLabels }}
{{- $reserved := list "app.kubernetes.io/name" "app.kubernetes.io/part-of" "app.kubernetes.io/instance"
  "app.kubernetes.io/managed-by" "app.kubernetes.io/version" "helm.sh/chart" }}
{{- range $name, $_ := . }}
{{- if has $name $reserved }}
{{- fail (printf "commonLabels: the chart sets %s itself" $name) }}
{{- end }}
{{- end }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* The labels of an object that has further ones, of a dict: path, labels, root. They win over commonLabels. */}}
{{- define "plimsoll.labelsWith" -}}
{{- $path := .path }}
{{- $own := include "plimsoll.labels" (dict "Release" .root.Release "Chart" .root.Chart "Values" dict) | fromYaml }}
{{- range $name, $_ := .labels }}
{{- if hasKey $own $name }}
{{- fail (printf "%s: the chart sets %s itself" $path $name) }}
{{- end }}
{{- end }}
{{- toYaml (merge dict (.labels | default dict) (include "plimsoll.labels" .root | fromYaml)) }}
{{- end }}

{{/* The image, with its digest or its tag. */}}
{{- define "plimsoll.image" -}}
{{- $image := .Values.image -}}
{{- if $image.digest -}}
{{ $image.repository }}@{{ $image.digest }}
{{- else -}}
{{ $image.repository }}:{{ $image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end }}

{{/* A ServiceAccount that mounts no token by default, of a dict: name, namespace, annotations, root. */}}
{{- define "plimsoll.serviceAccount" -}}
apiVersion: v1
kind: ServiceAccount
metadata:
  name: {{ .name }}
  namespace: {{ .namespace | quote }}
  labels:
    {{- include "plimsoll.labels" .root | nindent 4 }}
  {{- with .annotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
automountServiceAccountToken: false
{{- end }}

{{/* The metadata of a pod template, of a dict: name, values. */}}
{{- define "plimsoll.podMetadata" -}}
labels:
  app.kubernetes.io/name: {{ .name }}
  {{- with .values.podLabels }}
  {{- if hasKey . "app.kubernetes.io/name" }}
  {{- fail "podLabels: the selectors need app.kubernetes.io/name as it is" }}
  {{- end }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- with .values.podAnnotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* What the pods of a component have in common, of a dict: values, root. */}}
{{- define "plimsoll.podCommon" -}}
{{- with .root.Values.image.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . | quote }}
  {{- end }}
{{- end }}
{{- with .root.Values.priorityClass.name }}
priorityClassName: {{ . | quote }}
{{- end }}
{{- with .values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.topologySpreadConstraints }}
topologySpreadConstraints:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* The image of a container and when it is pulled. */}}
{{- define "plimsoll.containerImage" -}}
image: {{ include "plimsoll.image" . | quote }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
{{- end }}

{{/* The security context of each container. */}}
{{- define "plimsoll.containerSecurityContext" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
runAsNonRoot: true
capabilities:
  drop: [ALL]
seccompProfile:
  type: RuntimeDefault
{{- end }}

{{/* The flags of the log, which each component has. */}}
{{- define "plimsoll.loggingArgs" -}}
- --logging-format={{ .Values.logging.format }}
{{- end }}

{{/* The log's verbosity and further flags, of a dict: path, extraArgs, verbosity, ours (a dict of flags that values set, and which). */}}
{{- define "plimsoll.extraArgs" -}}
{{- if gt (int .verbosity) 0 }}
- --v={{ int .verbosity }}
{{- end }}
{{- $path := .path }}
{{- $ours := .ours }}
{{- range .extraArgs }}
{{- $flag := splitList "=" . | first }}
{{- with index $ours $flag }}
{{- fail (printf "%s: %s is not for extraArgs: set %s" $path $flag .) }}
{{- end }}
- {{ . | quote }}
{{- end }}
{{- end }}

{{/* Whether the release has installed the definitions of VerticalPodAutoscalers before: its Deployment remembers that. */}}
{{- define "plimsoll.hasInstalledVPADefinitions" -}}
{{- $live := lookup "apps/v1" "Deployment" .Release.Namespace "plimsoll-controller" -}}
{{- if eq (dig "metadata" "annotations" "plimsoll.dev/vpa-definitions" "" $live) "installed" -}}
true
{{- end -}}
{{- end }}

{{/* Whether it installs them. Helm fails on what something else has installed: upstream's stay as they are. */}}
{{- define "plimsoll.installsVPADefinitions" -}}
{{- $isOther := false -}}
{{- range list "verticalpodautoscalers" "verticalpodautoscalercheckpoints" -}}
{{- with lookup "apiextensions.k8s.io/v1" "CustomResourceDefinition" "" (printf "%s.autoscaling.k8s.io" .) -}}
{{- if ne (dig "metadata" "labels" "app.kubernetes.io/part-of" "" .) "plimsoll" -}}
{{- $isOther = true -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- $isWanted := and .Values.crds.install .Values.vertical.enabled .Values.crds.verticalPodAutoscalers -}}
{{- if and $isWanted (or (not $isOther) (include "plimsoll.hasInstalledVPADefinitions" .)) -}}
true
{{- end -}}
{{- end }}
