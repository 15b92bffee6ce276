{{/*
Keys of NVIDIA's older charts that have no effect here, and what became of them: lines for NOTES.txt. The schema
takes these names and no other unknown ones, so that a misspelt name is still refused.

legacyDaemonsetAPI was in v0.7 to v0.14. Below gfd, v0.12 to v0.14 had feature discovery as a chart of its own with
the values of a DaemonSet.
*/}}
{{- define "tranche.olderKeys" -}}
{{- $v := .Values -}}
{{- $lines := list -}}
{{- if not (kindIs "invalid" $v.legacyDaemonsetAPI) -}}
{{- $lines = append $lines "legacyDaemonsetAPI: Kubernetes has no extensions/v1beta1 any more; remove it" -}}
{{- end -}}
{{- range $key := list "migStrategy" "failOnInitError" -}}
{{- if hasKey $v.gfd $key -}}
{{- $lines = append $lines (printf "gfd.%s: the agent labels by its own configuration; set %s" $key $key) -}}
{{- end -}}
{{- end -}}
{{- $pod := list -}}
{{- range $key := list "affinity" "allowDefaultNamespace" "fullnameOverride" "image" "imagePullSecrets" "namespace" "nodeSelector" "podAnnotations" "podSecurityContext" "priorityClassName" "resources" "runtimeClassName" "selectorLabelsOverride" "tolerations" "updateStrategy" -}}
{{- if hasKey $v.gfd $key -}}{{- $pod = append $pod (printf "gfd.%s" $key) -}}{{- end -}}
{{- end -}}
{{- if $pod -}}
{{- $lines = append $lines (printf "%s: one container does both; what holds for it is said without gfd" (join ", " $pod)) -}}
{{- end -}}
{{- range $key := list "nfd" "node-feature-discovery" -}}
{{- if hasKey $v.gfd $key -}}
{{- $lines = append $lines (printf "gfd.%s: node feature discovery is yours to install" $key) -}}
{{- end -}}
{{- end -}}
{{- if hasKey $v.nfd "enableNodeFeatureApi" -}}
{{- $lines = append $lines "nfd.enableNodeFeatureApi: gfd.labelOutput says how labels come to the Node" -}}
{{- end -}}
{{- dict "lines" $lines | toJson -}}
{{- end }}
