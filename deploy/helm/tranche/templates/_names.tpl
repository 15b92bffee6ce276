{{/*
Names and labels, by the rules of NVIDIA's chart.

With compat.nvidiaNames they are what its chart makes of the same release's name and values. The agent's DaemonSet then
selects by the two labels that NVIDIA's does, so that `helm upgrade` of a release of NVIDIA's chart changes it in place:
a selector cannot be changed. The other components keep this chart's name in their label: no DaemonSet counts
another's Pods.
*/}}

{{- define "tranche.chartName" -}}
{{- .Values.compat.nvidiaNames | ternary "nvidia-device-plugin" .Chart.Name }}
{{- end }}

{{- define "tranche.name" -}}
{{- default (include "tranche.chartName" .) .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{/* (list root component): the label app.kubernetes.io/name of that component's Pods. */}}
{{- define "tranche.podName" -}}
{{- $root := index . 0 -}}
{{- if and $root.Values.compat.nvidiaNames (ne (index . 1) "agent") -}}
{{ $root.Chart.Name }}
{{- else -}}
{{ include "tranche.name" $root }}
{{- end }}
{{- end }}

{{- define "tranche.fullname" -}}
{{- $name := default (include "tranche.chartName" .) .Values.nameOverride -}}
{{- $full := contains $name .Release.Name | ternary .Release.Name (printf "%s-%s" .Release.Name $name) -}}
{{- default $full .Values.fullnameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- define "tranche.namespace" -}}
{{- default .Release.Namespace .Values.namespaceOverride }}
{{- end }}

{{/* The agent's DaemonSet. */}}
{{- define "tranche.daemonset" -}}
{{- .Values.compat.operatorNames | ternary "nvidia-device-plugin-daemonset" (include "tranche.fullname" .) }}
{{- end }}

{{- define "tranche.agentContainer" -}}
{{- $own := .Values.compat.nvidiaNames | ternary "nvidia-device-plugin-ctr" "agent" -}}
{{- .Values.compat.operatorNames | ternary "nvidia-device-plugin" $own }}
{{- end }}

{{/* The agent's service account. */}}
{{- define "tranche.agentAccount" -}}
{{- $part := .Values.compat.nvidiaNames | ternary "service-account" "agent" -}}
{{- .Values.compat.operatorNames | ternary "nvidia-device-plugin" (include "tranche.part" (list . $part)) }}
{{- end }}

{{/* (list root suffix): a name within Kubernetes' 63 characters. */}}
{{- define "tranche.part" -}}
{{- $suffix := index . 1 -}}
{{- $room := int (sub 62 (len $suffix)) -}}
{{- printf "%s-%s" (include "tranche.fullname" (index . 0) | trunc $room | trimSuffix "-") $suffix }}
{{- end }}

{{- define "tranche.chart" -}}
{{- printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{- end }}

{{/* Labels of objects. */}}
{{- define "tranche.labels" -}}
helm.sh/chart: {{ include "tranche.chart" . }}
app.kubernetes.io/name: {{ include "tranche.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{/* (list root component): what a Pod of that component is found by. */}}
{{- define "tranche.selectorLabels" -}}
{{- $root := index . 0 -}}
{{- $component := index . 1 -}}
{{- if and (eq $component "agent") $root.Values.selectorLabelsOverride -}}
{{ toYaml $root.Values.selectorLabelsOverride }}
{{- else -}}
{{- if and (eq $component "agent") $root.Values.compat.operatorNames -}}
app: nvidia-device-plugin-daemonset
{{ end -}}
app.kubernetes.io/name: {{ include "tranche.podName" . }}
app.kubernetes.io/instance: {{ $root.Release.Name }}
{{- if not (and (eq $component "agent") $root.Values.compat.nvidiaNames) }}
app.kubernetes.io/component: {{ $component }}
{{- end }}
{{- end }}
{{- end }}

{{/* (list root component): labels of that component's Pods: the selector's, who they are, and on GPU nodes the
users' own, which win over neither. */}}
{{- define "tranche.podLabels" -}}
{{- $root := index . 0 -}}
{{- $all := dict "app.kubernetes.io/name" (include "tranche.podName" .) "app.kubernetes.io/instance" $root.Release.Name "app.kubernetes.io/component" (index . 1) -}}
{{- $own := has (index . 1) (list "agent" "arbiter" "mps-control-daemon") | ternary (deepCopy ($root.Values.podLabels | default dict)) dict -}}
{{- toYaml (mergeOverwrite $own $all (include "tranche.selectorLabels" . | fromYaml)) }}
{{- end }}

{{- define "tranche.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}
{{- end }}
