{{/* What metrics add to the agent's Pod, and what scrapers are told. */}}

{{/* The root: variables of the agent, as a JSON list of (name, value). */}}
{{- define "tranche.metricsEnv" -}}
{{- $m := .Values.metrics -}}
{{- $env := list
      (list "TRANCHE_METRICS_ADDRESS" (printf ":%d" (int $m.port)))
      (list "TRANCHE_METRICS_NAMES" (toString $m.names)) -}}
{{- if $m.tls.secretName -}}
{{- $env = append $env (list "TRANCHE_METRICS_TLS_DIR" "/metrics-tls") -}}
{{- end -}}
{{- if $m.token.secretName -}}
{{- $env = append $env (list "TRANCHE_METRICS_TOKEN_FILE" "/metrics-token/token") -}}
{{- end -}}
{{- toJson $env -}}
{{- end }}

{{- define "tranche.metricsScheme" -}}
{{- .Values.metrics.tls.secretName | empty | ternary "http" "https" -}}
{{- end }}

{{/* (list root settings): annotations of the agents' Pods. Those for a scraper only where it could come in; the
users' own win. */}}
{{- define "tranche.agentAnnotations" -}}
{{- $root := index . 0 -}}
{{- $m := $root.Values.metrics -}}
{{- $all := dict -}}
{{- if and (index . 1).metrics $m.annotations (not $m.podMonitor.enabled) (not $m.token.secretName) -}}
{{- $all = dict
      "prometheus.io/scrape" "true"
      "prometheus.io/scheme" (include "tranche.metricsScheme" $root)
      "prometheus.io/port" (toString $m.port)
      "prometheus.io/path" "/metrics" -}}
{{- end -}}
{{- with mergeOverwrite $all (deepCopy ($root.Values.podAnnotations | default dict)) -}}
{{ toYaml . }}
{{- end -}}
{{- end }}

{{/* The root: refuses values of metrics that contradict each other, or that this cluster cannot take. */}}
{{- define "tranche.checkMetrics" -}}
{{- $v := .Values -}}
{{- $m := $v.metrics -}}
{{- if and $m.enabled (not $v.devicePlugin.enabled) }}
{{- fail "\n'metrics.enabled=true' needs 'devicePlugin.enabled=true': the agent that serves a node's GPUs knows who holds them." }}
{{- end }}
{{- if and $m.podMonitor.enabled (not $m.enabled) }}
{{- fail "\n'metrics.podMonitor.enabled=true' has Prometheus ask for metrics, and with 'metrics.enabled=false' no agent serves any.\nSet 'metrics.enabled=true', or 'metrics.podMonitor.enabled=false'." }}
{{- end }}
{{- if and $m.grafanaDashboard.enabled (not $m.enabled) }}
{{- fail "\n'metrics.grafanaDashboard.enabled=true' makes a dashboard of metrics, and with 'metrics.enabled=false' no agent serves any.\nSet 'metrics.enabled=true', or 'metrics.grafanaDashboard.enabled=false'." }}
{{- end }}
{{- if and $m.podMonitor.enabled $m.tls.secretName (not $m.podMonitor.tlsConfig) }}
{{- fail "\n'metrics.tls.secretName' has the agents serve HTTPS, and Prometheus asks each Pod by its address, which is in no certificate.\nSet 'metrics.podMonitor.tlsConfig': {serverName: NAME, ca: {secret: {name: SECRET, key: ca.crt}}}, NAME being in the certificate." }}
{{- end }}
{{- if and $m.enabled (include "tranche.twoAgentsOnOnePort" .) }}
{{- fail "\n'devicePlugin.enableHostNetwork=true' makes 'metrics.port' a port of the node, and an update starts the next agent of a node beside the one before: the two cannot both have it.\nSet 'updateStrategy.rollingUpdate' to {maxSurge: 0, maxUnavailable: 1}, or leave the host's network." }}
{{- end }}
{{- range $kind, $value := dict "PodMonitor" "podMonitor" "PrometheusRule" "prometheusRule" }}
{{- if and (index $m $value).enabled (not ($.Capabilities.APIVersions.Has (printf "monitoring.coreos.com/v1/%s" $kind))) }}
{{- fail (printf "\n'metrics.%s.enabled=true' makes an object of the Prometheus operator, and this cluster has no %s (monitoring.coreos.com/v1).\nInstall the operator first, or set 'metrics.%s.enabled=false'.\nWith 'helm template', which asks no cluster, add: --api-versions monitoring.coreos.com/v1/%s" $value $kind $value $kind) }}
{{- end }}
{{- end }}
{{- end }}

{{/* The root: "true" where an update would have two agents of a node want one port of it. */}}
{{- define "tranche.twoAgentsOnOnePort" -}}
{{- $strategy := .Values.updateStrategy | default dict -}}
{{- $rolls := eq ($strategy.type | default "RollingUpdate") "RollingUpdate" -}}
{{- $surge := $strategy.rollingUpdate | empty | ternary 1 (dig "rollingUpdate" "maxSurge" 0 $strategy) -}}
{{- if and .Values.devicePlugin.enableHostNetwork $rolls (not (has (toString $surge) (list "0" "0%"))) }}true{{ end -}}
{{- end }}
