{{/* What the cluster's page adds to the controller's Pod. */}}

{{/* The root: arguments of the controller, as a JSON list. */}}
{{- define "tranche.webArgs" -}}
{{- $w := .Values.web -}}
{{- $m := .Values.metrics -}}
{{- $s := include "tranche.settings" . | fromJson -}}
{{- $args := list (printf "--web-address=:%d" (int $w.port)) -}}
{{- with $w.clusterName }}{{ $args = append $args (printf "--cluster-name=%s" .) }}{{ end -}}
{{- if $w.tls.secretName }}{{ $args = append $args "--web-tls-dir=/web-tls" }}{{ end -}}
{{- if $w.token.secretName }}{{ $args = append $args "--web-token-file=/web-token/token" }}{{ end -}}
{{- if $s.metrics -}}
{{- $labels := list -}}
{{- range $key, $value := include "tranche.agentLabels" . | fromYaml -}}
{{- $labels = append $labels (printf "%s=%s" $key $value) -}}
{{- end -}}
{{- $args = append $args (printf "--agent-selector=%s" (join "," $labels)) -}}
{{- $args = append $args (printf "--agent-port=%d" (int $m.port)) -}}
{{- if $m.tls.secretName }}{{ $args = append $args "--agent-ca-file=/agent-tls/ca.crt" }}{{ end -}}
{{- with $w.agentServerName }}{{ $args = append $args (printf "--agent-server-name=%s" .) }}{{ end -}}
{{- if $m.token.secretName }}{{ $args = append $args "--agent-token-file=/agent-token/token" }}{{ end -}}
{{- end -}}
{{- if not $s.fractions }}{{ $args = append $args (printf "--dra-driver-name=%s" .Values.dra.driverName) }}{{ end -}}
{{- toJson $args -}}
{{- end }}

{{/* The root: by which labels the agents' Pods are known. */}}
{{- define "tranche.agentLabels" -}}
{{- $selector := dict "app.kubernetes.io/instance" .Release.Name "app.kubernetes.io/component" "agent" -}}
{{- mergeOverwrite $selector (include "tranche.selectorLabels" (list . "agent") | fromYaml) | toYaml -}}
{{- end }}

{{/* The root: Secrets that the controller reads, as a JSON list of (volume, Secret, key; "" for all). */}}
{{- define "tranche.webSecrets" -}}
{{- $w := .Values.web -}}
{{- $m := .Values.metrics -}}
{{- $s := include "tranche.settings" . | fromJson -}}
{{- $all := list -}}
{{- with $w.tls.secretName }}{{ $all = append $all (list "web-tls" . "") }}{{ end -}}
{{- with $w.token.secretName }}{{ $all = append $all (list "web-token" . "token") }}{{ end -}}
{{- if $s.metrics -}}
{{- with $m.tls.secretName }}{{ $all = append $all (list "agent-tls" . "ca.crt") }}{{ end -}}
{{- with $m.token.secretName }}{{ $all = append $all (list "agent-token" . "token") }}{{ end -}}
{{- end -}}
{{- toJson $all -}}
{{- end }}

{{/* The root: annotations of the controller's Pods. Those for a scraper only where it could come in. */}}
{{- define "tranche.controllerAnnotations" -}}
{{- $w := .Values.web -}}
{{- $all := dict -}}
{{- if and $w.enabled .Values.metrics.annotations (not $w.podMonitor.enabled) (not $w.token.secretName) -}}
{{- $all = dict
      "prometheus.io/scrape" "true"
      "prometheus.io/scheme" (include "tranche.webScheme" .)
      "prometheus.io/port" (toString $w.port)
      "prometheus.io/path" "/metrics" -}}
{{- end -}}
{{- with mergeOverwrite $all (deepCopy (.Values.controller.podAnnotations | default dict)) -}}
{{ toYaml . }}
{{- end -}}
{{- end }}

{{- define "tranche.webScheme" -}}
{{- .Values.web.tls.secretName | empty | ternary "http" "https" -}}
{{- end }}

{{/* The root: refuses values of the page that contradict each other. */}}
{{- define "tranche.checkWeb" -}}
{{- $w := .Values.web -}}
{{- if and $w.podMonitor.enabled (not $w.enabled) }}
{{- fail "\n'web.podMonitor.enabled=true' has Prometheus ask the controller, and with 'web.enabled=false' it serves nothing.\nSet 'web.enabled=true', or 'web.podMonitor.enabled=false'." }}
{{- end }}
{{- if and $w.podMonitor.enabled $w.tls.secretName (not $w.podMonitor.tlsConfig) }}
{{- fail "\n'web.tls.secretName' has the controller serve HTTPS, and Prometheus asks its Pod by the address, which is in no certificate.\nSet 'web.podMonitor.tlsConfig': {serverName: NAME, ca: {secret: {name: SECRET, key: ca.crt}}}, NAME being in the certificate." }}
{{- end }}
{{- if and $w.podMonitor.enabled (not (.Capabilities.APIVersions.Has "monitoring.coreos.com/v1/PodMonitor")) }}
{{- fail "\n'web.podMonitor.enabled=true' makes an object of the Prometheus operator, and this cluster has no PodMonitor (monitoring.coreos.com/v1).\nInstall the operator first, or set 'web.podMonitor.enabled=false'.\nWith 'helm template', which asks no cluster, add: --api-versions monitoring.coreos.com/v1/PodMonitor" }}
{{- end }}
{{- end }}
