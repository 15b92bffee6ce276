{{/*
What the values come to, decided once, as JSON: {{ $s := include "tranche.settings" . | fromJson }}.

  configMap      the agent's ConfigMap; "" when it has none
  embedded       configurations that the chart puts into it, by name
  defaultConfig  for nodes without the label
  fallbacks      what to try then
  clusterPolicy  the ConfigMap is the controller's
  labelOutput    nodefeature, file or node; "" when nothing is labelled
  seen           the chart could read the ConfigMap that it did not make
  gpuNode        the agent publishes the node's GPUNode
  usesApi        the agent talks to the API server
  migMonitor, volumeMounts, cdi    what the mode needs of the container
  migManager     the agent changes MIG layouts, and the controller drains nodes for it
  metrics        the agent serves metrics
  hostPID        the agent sees the node's processes
  seesProcesses  and what files they have open, to name who has a GPU open
  migPools       the ConfigMap with pools of nodes that get a layout; "": there are none
  controller     the controller runs
  limits         containers may be limited here: the arbiter runs
  keepsArbiter   it runs for earlier claims alone, on nodes with a label tranche.dev/mode
  findings       what the arbiter finds becomes Events
  evict          and the controller evicts where the configuration says so
  kernelLimits   and has the driver limit their control groups
  runtimeHook    and the container runtime asks the arbiter before they start (CDI)
  mps            containers may share by MPS here: its control daemons run
  dra            the agent serves resource claims
  dynamicMig     and makes MIG instances for them
  fractions      the controller serves the webhook for fractions of GPUs
  quota          and counts shares against the quotas of namespaces
  web            the controller serves the cluster's page and metrics
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
{{- $labelOutput := $gfd | ternary (include "tranche.labelOutput" .) "" -}}
{{- $looked := include "tranche.lookAtConfigs" (list . $name $clusterPolicy) | fromJson -}}
{{- $configs := $embedded | default $looked.data -}}
{{- $needs := include "tranche.needs" (dict "values" $v "configs" $configs "migStrategy" $looked.migStrategy) | fromJson -}}
{{- $migManager := and $v.devicePlugin.enabled $v.migManager.enabled -}}
{{- $dra := and $v.devicePlugin.enabled $v.dra.enabled -}}
{{- $dynamicMig := and $dra $v.dra.dynamicMig -}}
{{- $gpuNode := and $v.devicePlugin.enabled $v.gpuNode.enabled -}}
{{- $metrics := and $v.devicePlugin.enabled $v.metrics.enabled -}}
{{- $seesProcesses := and $migManager $v.migManager.enableHostPID -}}
{{- $follows := or (ne $configMap "") (has $labelOutput (list "nodefeature" "node")) $migManager $dra -}}
{{- $limits := and $v.devicePlugin.enabled (or $needs.limits (and $dra (kindIs "invalid" $v.limits.enabled))) -}}
{{- $findings := and $limits $follows -}}
{{- dict
      "configMap" $configMap
      "embedded" $embedded
      "defaultConfig" ($v.config.default | default $operator.default)
      "fallbacks" ($clusterPolicy | ternary (list "empty") $v.config.fallbackStrategies)
      "clusterPolicy" $clusterPolicy
      "labelOutput" $labelOutput
      "seen" $looked.seen
      "gpuNode" $gpuNode
      "usesApi" (or $follows $gpuNode $metrics)
      "migMonitor" (or $needs.mig $migManager $dynamicMig)
      "migManager" $migManager
      "metrics" $metrics
      "hostPID" (or $seesProcesses (and $metrics $v.metrics.hostPID))
      "seesProcesses" $seesProcesses
      "migPools" (and $migManager $v.migManager.pools | empty | ternary "" (include "tranche.part" (list . "mig-pools")))
      "volumeMounts" $needs.volumeMounts
      "cdi" (or $needs.cdi $dra)
      "limits" $limits
      "keepsArbiter" (and (not $limits) (kindIs "invalid" $v.limits.enabled) (semverCompare ">=1.34.0-0" .Capabilities.KubeVersion.Version))
      "kernelLimits" (and $limits $needs.kernelLimits)
      "runtimeHook" (and $limits $needs.runtimeHook)
      "findings" $findings
      "evict" (and $findings $needs.evict)
      "controller" (or $clusterPolicy (and $findings $needs.evict) $migManager $v.fractions.enabled $v.web.enabled)
      "fractions" $v.fractions.enabled
      "quota" (and $v.fractions.enabled $v.fractions.quota.enabled)
      "web" $v.web.enabled
      "mps" (and $v.devicePlugin.enabled $needs.mps)
      "dra" $dra
      "dynamicMig" $dynamicMig
    | toJson -}}
{{- end }}

{{/*
DeviceClasses whose claims are counted against quotas, as a JSON list. Kubernetes counts claims of the class gpu.nvidia.com
only where that is served by the name nvidia.com/gpu.
*/}}
{{- define "tranche.quotaClasses" -}}
{{- $classes := .Values.fractions.quota.deviceClasses -}}
{{- $dra := .Values.dra -}}
{{- if and $dra.enabled $dra.deviceClasses.create (ne ($dra.deviceClasses.extendedResourceName | default "") "nvidia.com/gpu") -}}
{{- $classes = append $classes "gpu.nvidia.com" -}}
{{- end -}}
{{- $classes | uniq | toJson -}}
{{- end }}

{{/*
Where labels go. auto: to a NodeFeature where node feature discovery serves them, else the agent writes them on its
Node. That takes the right to patch Nodes, which only the admission policy narrows to the agent's own: without the
policy nobody gets it unasked.
*/}}
{{- define "tranche.labelOutput" -}}
{{- $output := .Values.gfd.labelOutput -}}
{{- if eq $output "auto" -}}
{{- $nfd := .Capabilities.APIVersions.Has "nfd.k8s-sigs.io/v1alpha1" -}}
{{- $output = or $nfd (not .Values.admissionPolicy.enabled) | ternary "nodefeature" "node" -}}
{{- end -}}
{{- $output -}}
{{- end }}

{{/*
(list root name clusterPolicy): what a ConfigMap that the chart does not make says, as far as Helm can see it: data,
migStrategy (of a policy), seen. Helm sees the cluster at install and upgrade; `helm template`, and tools that use it,
see nothing. Whoever has said each value that would follow from it is not looked up for.
*/}}
{{- define "tranche.lookAtConfigs" -}}
{{- $root := index . 0 -}}
{{- $v := $root.Values -}}
{{- $name := index . 1 -}}
{{- $migStrategy := "" -}}
{{- $data := dict -}}
{{- $seen := false -}}
{{- $open := false -}}
{{- range list $v.mig.monitor $v.cdi.enabled $v.mps.enabled $v.limits.enabled $v.limits.evict $v.limits.kernelLimits $v.limits.runtimeHook -}}
{{- $open = or $open (kindIs "invalid" .) -}}
{{- end -}}
{{- if and $open (index . 2) ($root.Capabilities.APIVersions.Has "nvidia.com/v1/ClusterPolicy") -}}
{{- range (lookup "nvidia.com/v1" "ClusterPolicy" "" "").items -}}
{{- $name = dig "spec" "devicePlugin" "config" "name" "" . -}}
{{- $migStrategy = dig "spec" "mig" "strategy" "" . -}}
{{- $seen = true -}}
{{- end -}}
{{- end -}}
{{- if and $open $name (not $v.devicePlugin.config.create) -}}
{{- with lookup "v1" "ConfigMap" (include "tranche.namespace" $root) $name -}}
{{- $data = .data | default dict -}}
{{- $seen = true -}}
{{- end -}}
{{- end -}}
{{- dict "data" $data "migStrategy" $migStrategy "seen" $seen | toJson -}}
{{- end }}

{{/* A mapping with its keys, and those below it, in lower case: the agent reads them without case. */}}
{{- define "tranche.lowerKeys" -}}
{{- $lowered := dict -}}
{{- range $key, $value := . -}}
  {{- if kindIs "map" $value -}}
    {{- $value = include "tranche.lowerKeys" $value | fromJson -}}
  {{- else if kindIs "slice" $value -}}
    {{- $items := list -}}
    {{- range $item := $value -}}
      {{- if kindIs "map" $item }}{{ $item = include "tranche.lowerKeys" $item | fromJson }}{{ end -}}
      {{- $items = append $items $item -}}
    {{- end -}}
    {{- $value = $items -}}
  {{- end -}}
  {{- $_ := set $lowered (lower $key) $value -}}
{{- end -}}
{{- $lowered | toJson -}}
{{- end }}

{{/* What the values, or else any of the configurations that the chart sees, ask of the container. */}}
{{- define "tranche.needs" -}}
{{- $v := .values -}}
{{- $mig := has ($v.migStrategy | default .migStrategy) (list "single" "mixed") -}}
{{- $strategies := include "tranche.list" $v.deviceListStrategy -}}
{{- $limits := false -}}
{{- $evict := false -}}
{{- $kernelLimits := false -}}
{{- $runtimeHook := false -}}
{{- $mps := false -}}
{{- range $content := .configs -}}
  {{- $file := include "tranche.lowerKeys" (fromYaml $content) | fromJson -}}
  {{- /* Of a type that the agent refuses, they ask for nothing. */}}
  {{- range $key := list "sharing" "tranche" "flags" -}}
    {{- if not (kindIs "map" (get $file $key)) }}{{ $_ := set $file $key dict }}{{ end -}}
  {{- end -}}
  {{- $mps = or $mps (not (empty $file.sharing.mps)) -}}
  {{- $table := $file.tranche.limits | default dict -}}
  {{- $limits = or $limits (not (empty $table)) -}}
  {{- if kindIs "map" $table -}}
    {{- range $entry := append ($table.resources | default list) $table -}}
      {{- if kindIs "map" $entry -}}
        {{- $evict = or $evict (eq (toString $entry.unregistered) "evict") -}}
        {{- $kernelLimits = or $kernelLimits (eq (toString $entry.kernellimits) "true") -}}
        {{- $runtimeHook = or $runtimeHook (eq (toString $entry.runtimehook) "true") -}}
      {{- end -}}
    {{- end -}}
  {{- end -}}
  {{- $flags := $file.flags -}}
  {{- if kindIs "invalid" $v.migStrategy -}}
    {{- $mig = or $mig (has $flags.migstrategy (list "single" "mixed")) -}}
  {{- end -}}
  {{- if kindIs "invalid" $v.deviceListStrategy -}}
    {{- $plugin := kindIs "map" $flags.plugin | ternary $flags.plugin dict -}}
    {{- $strategies = printf "%s,%s" $strategies (include "tranche.list" $plugin.deviceliststrategy) -}}
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

{{/* (settings): the parts that run or are mounted, for people. */}}
{{- define "tranche.whatWasSeen" -}}
{{- $parts := list -}}
{{- if .migMonitor }}{{ $parts = append $parts "MIG" }}{{ end -}}
{{- if .cdi }}{{ $parts = append $parts "CDI" }}{{ end -}}
{{- if .limits }}{{ $parts = append $parts "limits" }}{{ end -}}
{{- if .mps }}{{ $parts = append $parts "MPS" }}{{ end -}}
{{- $parts | empty | ternary "it needs no further part" (printf "parts for %s are there" (join ", " $parts)) -}}
{{- end }}
