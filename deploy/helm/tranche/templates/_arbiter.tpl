{{/* The arbiter, in a Pod of its own where containers are limited. Each takes (list root settings). */}}

{{/* Root, because the tenants' folders are. The program refuses itself what the runtime's profile lets through
and it has no use for (src/programs/arbiter/run/syscall_filter.h): a profile of ours would have to lie on each node. */}}
{{- define "tranche.arbiterSecurityContext" -}}
{{- if (index . 0).Values.compatWithCPUManager -}}
# As the agent: it reads GPUs too.
privileged: true
runAsUser: 0
{{- else -}}
{{- if (index . 1).kernelLimits -}}
# The driver takes limits of control groups from CAP_SYS_ADMIN alone.
capabilities:
  drop: ["ALL"]
  add: ["SYS_ADMIN"]
{{ else -}}
allowPrivilegeEscalation: false
capabilities:
  drop: ["ALL"]
{{ end -}}
readOnlyRootFilesystem: true
runAsUser: 0
seccompProfile:
  type: RuntimeDefault
{{- end }}
{{- end }}

{{- define "tranche.arbiterName" -}}
{{- include "tranche.part" (list . "arbiter") }}
{{- end }}

{{/* Where it runs for earlier claims alone (keepsArbiter): on nodes that somebody labelled tranche.dev/mode, whatever
the value: their containers get no memory without it. Terms are alternatives, so each gets the condition. */}}
{{- define "tranche.arbiterAffinity" -}}
{{- $affinity := deepCopy ((index . 0).Values.affinity | default dict) -}}
{{- if (index . 1).keepsArbiter -}}
{{- $labelled := dict "key" "tranche.dev/mode" "operator" "Exists" -}}
{{- $terms := list -}}
{{- range dig "nodeAffinity" "requiredDuringSchedulingIgnoredDuringExecution" "nodeSelectorTerms" (list dict) $affinity -}}
{{- $terms = append $terms (set . "matchExpressions" (append (.matchExpressions | default list) $labelled)) -}}
{{- end -}}
{{- $node := $affinity.nodeAffinity | default dict -}}
{{- $_ := set $node "requiredDuringSchedulingIgnoredDuringExecution" (dict "nodeSelectorTerms" $terms) -}}
{{- $_ := set $affinity "nodeAffinity" $node -}}
{{- end -}}
{{- $affinity | toJson -}}
{{- end }}

{{- define "tranche.arbiterEnv" -}}
{{- $v := (index . 0).Values -}}
{{- $s := index . 1 -}}
- name: TRANCHE_TENANTS
  value: {{ printf "%s/tenants" $v.stateDir | quote }}
- name: TRANCHE_ARBITER_STATE_DIR
  value: {{ $v.limits.arbiterStateDir | quote }}
- name: TRANCHE_STALL_AFTER
  value: {{ $v.limits.stallAfter | quote }}
- name: TRANCHE_LOG_LEVEL
  value: {{ $v.logLevel | quote }}
- name: NVIDIA_VISIBLE_DEVICES
  value: {{ $s.volumeMounts | ternary "/var/run/nvidia-container-devices" "all" | quote }}
- name: NVIDIA_DRIVER_CAPABILITIES
  value: "utility"
{{- end }}

{{/* What it sees of the node: folders by name (docs/helm.md), for it parses what tenants write. Where the agent sees
the whole root, for CDI, it sees /usr: of the driver it needs NVML alone (src/hardware/nvml/library.h). */}}
{{- define "tranche.arbiterFolders" -}}
{{- $v := (index . 0).Values -}}
{{- $s := index . 1 -}}
{{- $tenants := printf "%s/tenants" $v.stateDir -}}
{{- $folders := list
      (dict "name" "tenants" "host" $tenants "path" $tenants "type" "DirectoryOrCreate")
      (dict "name" "arbiter-state" "host" $v.limits.arbiterStateDir "path" $v.limits.arbiterStateDir "type" "DirectoryOrCreate") -}}
{{- if $s.kernelLimits -}}
{{- $folders = append $folders (dict "name" "cgroups" "host" "/sys/fs/cgroup" "path" "/sys/fs/cgroup" "type" "Directory") -}}
{{- end -}}
{{- range (include "tranche.agentFolders" . | fromJson).folders -}}
{{- if and (eq .name "driver-root") (eq (clean .host) "/") -}}
{{- $folders = append $folders (merge (dict "host" "/usr" "path" "/driver-root/usr") .) -}}
{{- else if has .name (list "driver-root" "mps-root" "all-devices") -}}
{{- $folders = append $folders . -}}
{{- end -}}
{{- end -}}
{{- dict "folders" $folders | toJson -}}
{{- end }}
