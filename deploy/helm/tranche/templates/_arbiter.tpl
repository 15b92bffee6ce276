{{/* The arbiter, second container of the agent's Pod where containers are limited. Each takes (list root settings). */}}

{{/* Root, because the tenants' folders are; hostPID (the Pod's) gives it the pids of its peers. */}}
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

{{- define "tranche.arbiterEnv" -}}
{{- $v := (index . 0).Values -}}
{{- $s := index . 1 -}}
- name: TRANCHE_TENANTS
  value: {{ printf "%s/tenants" $v.stateDir | quote }}
- name: TRANCHE_ARBITER_STATE_DIR
  value: {{ $v.limits.arbiterStateDir | quote }}
- name: TRANCHE_LOG_LEVEL
  value: {{ $v.logLevel | quote }}
- name: NVIDIA_VISIBLE_DEVICES
  value: {{ $s.volumeMounts | ternary "/var/run/nvidia-container-devices" "all" | quote }}
- name: NVIDIA_DRIVER_CAPABILITIES
  value: "utility"
{{- end }}

{{/* What it sees of the node. `own`: the agent has no such volume. */}}
{{- define "tranche.arbiterFolders" -}}
{{- $v := (index . 0).Values -}}
{{- $s := index . 1 -}}
{{- $tenants := printf "%s/tenants" $v.stateDir -}}
{{- $folders := list
      (dict "own" true "name" "tenants" "host" $tenants "path" $tenants "type" "DirectoryOrCreate")
      (dict "own" (not $s.findings) "name" "arbiter-state" "host" $v.limits.arbiterStateDir "path" $v.limits.arbiterStateDir "type" "DirectoryOrCreate") -}}
{{- if $s.kernelLimits -}}
{{- $folders = append $folders (dict "own" true "name" "cgroups" "host" "/sys/fs/cgroup" "path" "/sys/fs/cgroup" "type" "Directory") -}}
{{- end -}}
{{- range (include "tranche.agentFolders" . | fromJson).folders -}}
{{- if has .name (list "driver-root" "all-devices") -}}
{{- $folders = append $folders . -}}
{{- end -}}
{{- end -}}
{{- if $s.usesApi -}}
{{- /* Kubernetes puts the Pod's token into every container that has nothing at its place. */ -}}
{{- $folders = append $folders (dict "own" true "name" "no-token" "path" "/var/run/secrets/kubernetes.io/serviceaccount" "readOnly" true) -}}
{{- end -}}
{{- dict "folders" $folders | toJson -}}
{{- end }}
