{{/*
(list root settings): refuses names of others' that are taken in this cluster, before Helm has changed anything. Its own
messages name neither cause nor remedy: "cannot be imported", "field is immutable". Asks the cluster only where
compat.* is set; `helm template` has none to ask.
*/}}
{{- define "tranche.refuseNamesInUse" -}}
{{- $root := index . 0 -}}
{{- $s := index . 1 -}}
{{- $compat := $root.Values.compat -}}
{{- $namespace := include "tranche.namespace" $root -}}
{{- if $compat.operatorNames -}}
{{- $name := include "tranche.daemonset" $root -}}
{{- if lookup "apps/v1" "Deployment" $namespace "gpu-operator" -}}
{{- fail (printf "\n'compat.operatorNames=true' beside a GPU operator (Deployment %s/gpu-operator): with its device plugin off the operator deletes every DaemonSet and service account of its names, these too.\nLeave 'compat.operatorNames' out and set 'clusterPolicy.enabled=true' (docs/takeover.md)." $namespace) -}}
{{- end -}}
{{- $found := lookup "apps/v1" "DaemonSet" $namespace $name -}}
{{- if and $found (ne (include "tranche.releaseOf" $found) $root.Release.Name) -}}
{{- fail (printf "\n'compat.operatorNames=true': DaemonSet %s/%s exists and is not of this release. Helm takes no object over.\nLeave 'compat.operatorNames' out (docs/takeover.md), or delete that DaemonSet if nobody needs it any more." $namespace $name) -}}
{{- end -}}
{{- end -}}
{{- if $compat.nvidiaNames -}}
{{- include "tranche.refuseOtherSelector" (list $root "agent" (include "tranche.daemonset" $root)) -}}
{{- if $s.mps -}}
{{- include "tranche.refuseOtherSelector" (list $root "mps-control-daemon" (include "tranche.mpsName" $root)) -}}
{{- end -}}
{{- end -}}
{{- end }}

{{/* The release that made an object; "" when none did. */}}
{{- define "tranche.releaseOf" -}}
{{- get ((.metadata.annotations) | default dict) "meta.helm.sh/release-name" -}}
{{- end }}

{{/* (list root component name): refuses a DaemonSet of this name that selects Pods otherwise: no upgrade can change
that. */}}
{{- define "tranche.refuseOtherSelector" -}}
{{- $root := index . 0 -}}
{{- $namespace := include "tranche.namespace" $root -}}
{{- $found := lookup "apps/v1" "DaemonSet" $namespace (index . 2) -}}
{{- if $found -}}
{{- $wanted := include "tranche.selectorLabels" (list $root (index . 1)) | fromYaml -}}
{{- if ne (toJson $found.spec.selector.matchLabels) (toJson $wanted) -}}
{{- fail (printf "\nDaemonSet %s/%s exists and selects its Pods by other labels (%s), which nothing can change.\nUninstall that release first, then install this chart." $namespace (index . 2) (toJson $found.spec.selector.matchLabels)) -}}
{{- end -}}
{{- end -}}
{{- end }}
