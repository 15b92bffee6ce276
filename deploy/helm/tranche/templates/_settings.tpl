{{/*
What the values come to, decided once, as JSON: {{ $s := include "tranche.settings" . | fromJson }}.

  configMap      the agent's ConfigMap; "" when it has none
  embedded       configurations that the chart puts into it, by name
  defaultConfig  for nodes without the label
  fallbacks      what to try then
  clusterPolicy  the ConfigMap is the controller's
  labelOutput    nodefeature, file or node; "" when nothing is labelled
  usesApi        the agent talks to the API server
  migMonitor, volumeMounts, cdi    what the mode needs of the container
  limits         containers may be limited here: the arbiter runs
  findings       what the arbiter finds becomes Events
  evict          and the controller evicts where the configuration says so
  kernelLimits   and has the driver limit their control groups
  runtimeHook    and the container runtime asks the arbiter before they start (CDI)
  mps            containers may share by MPS here: its control daemons run
*/}}
{{- define "tranche.settings" -}}
{{- $v := .Values -}}
{{- $operator := $v.devicePlugin.config -}}
{{- $name := $v.config.name | default $operator.name -}}
{{- $embedded := $v.config.map -}}
{{- if $operator.create -}}{{- $embedded = $operator.data -}}{{- end -}}
{{- $clusterPolicy := $v.clusterPolicy.enabled -}}
{{- if kindIs "invalid" $clusterPolicy -}}
{{- $clusterPolicy = and $v.compat.operatorNames (not $name) (empty $embedded) -}}
{{- end -}}
{{- $configMap := $name -}}
{{- if and (not $name) $embedded -}}{{- $configMap = include "tranche.part" (list . "configs") -}}{{- end -}}
{{- if $clusterPolicy -}}{{- $configMap = include "tranche.part" (list . "policy") -}}{{- end -}}
{{- $gfd := $v.gfd.enabled -}}
{{- if kindIs "invalid" $gfd -}}{{- $gfd = $v.compat.operatorNames -}}{{- end -}}
{{- $labelOutput := $gfd | ternary $v.gfd.labelOutput "" -}}
{{- $needs := include "tranche.needs" (dict "values" $v "embedded" $embedded) | fromJson -}}
{{- $usesApi := or (ne $configMap "") (has $labelOutput (list "nodefeature" "node")) -}}
{{- $limits := and $v.devicePlugin.enabled $needs.limits -}}
{{- $findings := and $limits $usesApi -}}
{{- dict
      "configMap" $configMap
      "embedded" $embedded
      "defaultConfig" ($v.config.default | default $operator.default)
      "fallbacks" ($clusterPolicy | ternary (list "empty") $v.config.fallbackStrategies)
      "clusterPolicy" $clusterPolicy
      "labelOutput" $labelOutput
      "usesApi" $usesApi
      "migMonitor" $needs.mig
      "volumeMounts" $needs.volumeMounts
      "cdi" $needs.cdi
      "limits" $limits
      "kernelLimits" (and $limits $needs.kernelLimits)
      "runtimeHook" (and $limits $needs.runtimeHook)
      "findings" $findings
      "evict" (and $findings $needs.evict)
      "mps" (and $v.devicePlugin.enabled $needs.mps)
    | toJson -}}
{{- end }}

{{/* What the values, or else any of the chart's own configurations, ask of the container. */}}
{{- define "tranche.needs" -}}
{{- $v := .values -}}
{{- $mig := has $v.migStrategy (list "single" "mixed") -}}
{{- $strategies := include "tranche.list" $v.deviceListStrategy -}}
{{- $limits := false -}}
{{- $evict := false -}}
{{- $kernelLimits := false -}}
{{- $runtimeHook := false -}}
{{- $mps := false -}}
{{- range $content := .embedded -}}
  {{- $file := fromYaml $content -}}
  {{- $mps = or $mps (not (empty ($file.sharing | default dict).mps)) -}}
  {{- $table := ($file.tranche | default dict).limits | default dict -}}
  {{- $limits = or $limits (not (empty $table)) -}}
  {{- if kindIs "map" $table -}}
    {{- range $entry := append ($table.resources | default list) $table -}}
      {{- if kindIs "map" $entry -}}
        {{- $evict = or $evict (eq (toString $entry.unregistered) "evict") -}}
        {{- $kernelLimits = or $kernelLimits (eq (toString $entry.kernelLimits) "true") -}}
        {{- $runtimeHook = or $runtimeHook (eq (toString $entry.runtimeHook) "true") -}}
      {{- end -}}
    {{- end -}}
  {{- end -}}
  {{- $flags := $file.flags | default dict -}}
  {{- if kindIs "invalid" $v.migStrategy -}}
    {{- $mig = or $mig (has $flags.migStrategy (list "single" "mixed")) -}}
  {{- end -}}
  {{- if kindIs "invalid" $v.deviceListStrategy -}}
    {{- $plugin := $flags.plugin | default dict -}}
    {{- $strategies = printf "%s,%s" $strategies (include "tranche.list" $plugin.deviceListStrategy) -}}
  {{- end -}}
{{- end -}}
{{- $cdi := contains "cdi-" $strategies -}}
{{- dict
      "mig" (kindIs "invalid" $v.mig.monitor | ternary $mig $v.mig.monitor)
      "volumeMounts" (contains "volume-mounts" $strategies)
      "cdi" (kindIs "invalid" $v.cdi.enabled | ternary $cdi $v.cdi.enabled)
      "limits" (kindIs "invalid" $v.limits.enabled | ternary $limits $v.limits.enabled)
      "evict" (kindIs "invalid" $v.limits.evict | ternary $evict $v.limits.evict)
      "kernelLimits" (kindIs "invalid" $v.limits.kernelLimits | ternary $kernelLimits $v.limits.kernelLimits)
      "runtimeHook" (kindIs "invalid" $v.limits.runtimeHook | ternary $runtimeHook $v.limits.runtimeHook)
      "mps" (kindIs "invalid" $v.mps.enabled | ternary $mps $v.mps.enabled)
    | toJson -}}
{{- end }}

{{/* A list, or a text with commas, as a text with commas. */}}
{{- define "tranche.list" -}}
{{- if kindIs "slice" . }}{{ join "," . }}{{ else if not (kindIs "invalid" .) }}{{ . }}{{ end -}}
{{- end }}
