{{/* Names and labels, by the rules of NVIDIA's chart. */}}

{{- define "tranche.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- define "tranche.fullname" -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
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
{{- .Values.compat.operatorNames | ternary "nvidia-device-plugin" "agent" }}
{{- end }}

{{/* The agent's service account. */}}
{{- define "tranche.agentAccount" -}}
{{- .Values.compat.operatorNames | ternary "nvidia-device-plugin" (include "tranche.part" (list . "agent")) }}
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
app.kubernetes.io/name: {{ include "tranche.name" $root }}
app.kubernetes.io/instance: {{ $root.Release.Name }}
app.kubernetes.io/component: {{ $component }}
{{- end }}
{{- end }}

{{/* (list root component): labels of that component's Pods: the selector's, who they are, and on GPU nodes the
users' own, which win over neither. */}}
{{- define "tranche.podLabels" -}}
{{- $root := index . 0 -}}
{{- $all := dict "app.kubernetes.io/name" (include "tranche.name" $root) "app.kubernetes.io/instance" $root.Release.Name "app.kubernetes.io/component" (index . 1) -}}
{{- $own := has (index . 1) (list "agent" "arbiter" "mps-control-daemon") | ternary (deepCopy $root.Values.podLabels) dict -}}
{{- toYaml (mergeOverwrite $own $all (include "tranche.selectorLabels" . | fromYaml)) }}
{{- end }}

{{- define "tranche.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}
{{- end }}
