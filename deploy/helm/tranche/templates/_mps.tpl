{{/* The Pods of MPS' control daemons. Each takes (list root settings). */}}

{{/* In the GPU operator's spelling where the agent has it. */}}
{{- define "tranche.mpsName" -}}
{{- .Values.compat.operatorNames | ternary "nvidia-device-plugin-mps-control-daemon" (include "tranche.part" (list . "mps-control-daemon")) }}
{{- end }}

{{/* The containers' names: the daemons', and that of what prepares their /dev/shm. */}}
{{- define "tranche.mpsContainer" -}}
{{- .Values.compat.nvidiaNames | ternary "mps-control-daemon-ctr" "mps-control-daemon" }}
{{- end }}

{{- define "tranche.mpsInitContainer" -}}
{{- .Values.compat.nvidiaNames | ternary "mps-control-daemon-mounts" "mount-shm" }}
{{- end }}

{{/* Their service account. */}}
{{- define "tranche.mpsAccount" -}}
{{- include "tranche.part" (list . "mps-control-daemon") }}
{{- end }}

{{- define "tranche.mpsEnv" -}}
{{- $v := (index . 0).Values -}}
{{- $s := index . 1 -}}
- name: NODE_NAME
  valueFrom: {fieldRef: {fieldPath: spec.nodeName}}
- name: NAMESPACE
  valueFrom: {fieldRef: {fieldPath: metadata.namespace}}
{{- $env := list }}
{{- if $s.configMap }}
{{- $env = append $env (list "CONFIG_MAP" $s.configMap) }}
{{- $env = append $env (list "NODE_LABEL" "nvidia.com/device-plugin.config") }}
{{- if and $s.defaultConfig (not $s.clusterPolicy) }}
{{- $env = append $env (list "DEFAULT_CONFIG" $s.defaultConfig) }}
{{- end }}
{{- $env = append $env (list "FALLBACK_STRATEGIES" (join "," $s.fallbacks)) }}
{{- end }}
{{- if not (kindIs "invalid" $v.migStrategy) }}
{{- $env = append $env (list "MIG_STRATEGY" $v.migStrategy) }}
{{- end }}
{{- if $v.strictConfig }}
{{- $env = append $env (list "TRANCHE_STRICT_CONFIG" true) }}
{{- end }}
{{- /* The configuration is refused here for the same paths as in the agent. */}}
{{- range list (list "NVIDIA_DRIVER_ROOT" $v.nvidiaDriverRoot) (list "TRANCHE_TRUSTED_FOLDERS" $v.trustedFolders) }}
{{- if not (kindIs "invalid" (index . 1)) }}
{{- $env = append $env . }}
{{- end }}
{{- end }}
{{- $env = append $env (list "TRANCHE_LOG_LEVEL" $v.logLevel) }}
{{- $env = append $env (list "NVIDIA_VISIBLE_DEVICES" "all") }}
{{- /* compute brings nvidia-cuda-mps-control and -server. */}}
{{- $env = append $env (list "NVIDIA_DRIVER_CAPABILITIES" "compute,utility") }}
{{- range $env }}
- name: {{ index . 0 }}
  value: {{ include "tranche.list" (index . 1) | quote }}
{{- end }}
{{- end }}
