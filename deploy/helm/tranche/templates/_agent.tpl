{{/* Parts of the agent's Pod. Each takes (list root settings). */}}

{{/* No privilege that the mode does not need; what the user sets replaces it whole. */}}
{{- define "tranche.agentSecurityContext" -}}
{{- $v := (index . 0).Values -}}
{{- if $v.securityContext -}}
{{ toYaml $v.securityContext }}
{{- else if $v.compatWithCPUManager -}}
# The static CPU manager makes runtimes rewrite a container's device rules; only a privileged one keeps its GPUs.
privileged: true
runAsUser: 0
{{- else -}}
{{- $admin := or (index . 1).migMonitor (and $v.gfd.vgpu (index . 1).labelOutput) -}}
{{- if not $admin }}
allowPrivilegeEscalation: false
{{- end }}
capabilities:
  drop: ["ALL"]
  {{- if (index . 1).seesProcesses }}
  # What files the node's processes have open: the folder is theirs alone (DAC_READ_SEARCH), and so are its links.
  add: ["SYS_ADMIN", "SYS_PTRACE", "DAC_READ_SEARCH"]
  {{- else if $admin }}
  add: ["SYS_ADMIN"]
  {{- end }}
{{- if and (index . 1).seesProcesses (semverCompare ">=1.30.0-0" (index . 0).Capabilities.KubeVersion.Version) }}
# The runtimes' profile hides the files of processes outside of containers.
appArmorProfile:
  type: Unconfined
{{- end }}
readOnlyRootFilesystem: true
# kubelet's folders belong to root.
runAsUser: 0
seccompProfile:
  type: RuntimeDefault
{{- end }}
{{- end }}

{{- define "tranche.agentEnv" -}}
{{- $root := index . 0 -}}
{{- $v := $root.Values -}}
{{- $s := index . 1 -}}
- name: NODE_NAME
  valueFrom: {fieldRef: {fieldPath: spec.nodeName}}
- name: NAMESPACE
  valueFrom: {fieldRef: {fieldPath: metadata.namespace}}
- name: POD_NAME
  valueFrom: {fieldRef: {fieldPath: metadata.name}}
- name: POD_UID
  valueFrom: {fieldRef: {fieldPath: metadata.uid}}
{{- $env := list (list "TRANCHE_RELEASE" (printf "%s/%s" $root.Release.Namespace $root.Release.Name)) }}
{{- if $s.configMap }}
{{- $env = append $env (list "CONFIG_MAP" $s.configMap) }}
{{- $env = append $env (list "NODE_LABEL" "nvidia.com/device-plugin.config") }}
{{- if and $s.defaultConfig (not $s.clusterPolicy) }}
{{- $env = append $env (list "DEFAULT_CONFIG" $s.defaultConfig) }}
{{- end }}
{{- $env = append $env (list "FALLBACK_STRATEGIES" (join "," $s.fallbacks)) }}
{{- end }}
{{- $env = append $env (list "TRANCHE_LABELS" (empty $s.labelOutput | ternary "off" "on")) }}
{{- if $s.labelOutput }}
{{- $env = append $env (list "LABEL_OUTPUT" $s.labelOutput) }}
{{- end }}
{{- if not $v.devicePlugin.enabled }}
{{- $env = append $env (list "KUBELET_SOCKET" "") }}
{{- end }}
{{- $timestamp := kindIs "invalid" $v.gfd.noTimestamp | ternary $v.noTimestamp $v.gfd.noTimestamp }}
{{- $interval := kindIs "invalid" $v.gfd.sleepInterval | ternary $v.sleepInterval $v.gfd.sleepInterval }}
{{- range list
      (list "MIG_STRATEGY" $v.migStrategy)
      (list "FAIL_ON_INIT_ERROR" $v.failOnInitError)
      (list "PASS_DEVICE_SPECS" $v.compatWithCPUManager)
      (list "DEVICE_LIST_STRATEGY" $v.deviceListStrategy)
      (list "DEVICE_ID_STRATEGY" $v.deviceIDStrategy)
      (list "DEVICE_DISCOVERY_STRATEGY" $v.deviceDiscoveryStrategy)
      (list "SHARED_DEVICES_ALLOCATION_POLICY" $v.sharedDevicesAllocationPolicy)
      (list "NVIDIA_DRIVER_ROOT" $v.nvidiaDriverRoot)
      (list "NVIDIA_DEV_ROOT" $v.nvidiaDevRoot)
      (list "NVIDIA_CDI_HOOK_PATH" $v.cdi.nvidiaHookPath)
      (list "CDI_FEATURE_FLAGS" $v.cdi.featureFlags)
      (list "TRANCHE_TRUSTED_FOLDERS" $v.trustedFolders)
      (list "GDRCOPY_ENABLED" $v.gdrcopyEnabled)
      (list "GDS_ENABLED" $v.gdsEnabled)
      (list "MOFED_ENABLED" $v.mofedEnabled)
      (list "MPS_ROOT" $v.mps.root)
      (list "GFD_NO_TIMESTAMP" $timestamp)
      (list "GFD_SLEEP_INTERVAL" $interval)
      (list "TRANCHE_HEALTH_RECOVERY" $v.healthRecovery)
      (list "TRANCHE_LOG_LEVEL" $v.logLevel) }}
{{- if not (kindIs "invalid" (index . 1)) }}
{{- $env = append $env . }}
{{- end }}
{{- end }}
{{- if $v.strictConfig }}
{{- $env = append $env (list "TRANCHE_STRICT_CONFIG" true) }}
{{- end }}
{{- if $v.takeOver }}
{{- $env = append $env (list "TRANCHE_TAKE_OVER" true) }}
{{- end }}
{{- if ne $v.stateDir "/var/lib/tranche" }}
{{- $env = append $env (list "TRANCHE_STATE_DIR" $v.stateDir) }}
{{- end }}
{{- if not $s.limits }}
{{- /* Without an arbiter nothing with limits may be offered. */}}
{{- $env = append $env (list "TRANCHE_LIMIT_LIBRARY" "none") }}
{{- end }}
{{- if $s.findings }}
{{- $env = append $env (list "TRANCHE_ARBITER_STATE_DIR" $v.limits.arbiterStateDir) }}
{{- end }}
{{- if $s.evict }}
{{- $env = append $env (list "TRANCHE_ASK_EVICTIONS" true) }}
{{- end }}
{{- if $s.gpuNode }}
{{- $env = append $env (list "TRANCHE_GPU_NODE" true) }}
{{- end }}
{{- if $s.metrics }}
{{- $env = concat $env (include "tranche.metricsEnv" (index . 0) | fromJsonArray) }}
{{- end }}
{{- if (index . 0).Values.metrics.podResourcesSocket }}
{{- $env = append $env (list "TRANCHE_POD_RESOURCES_SOCKET" "/var/lib/kubelet/pod-resources/tranche.sock") }}
{{- end }}
{{- $devices := $s.volumeMounts | ternary "/var/run/nvidia-container-devices" "all" }}
{{- $env = append $env (list "NVIDIA_VISIBLE_DEVICES" $devices) }}
{{- $env = append $env (list "NVIDIA_DRIVER_CAPABILITIES" "utility") }}
{{- if $s.migMonitor }}
{{- $env = append $env (list "NVIDIA_MIG_MONITOR_DEVICES" "all") }}
{{- end }}
{{- if or $s.migManager $s.dynamicMig }}
{{- $env = append $env (list "NVIDIA_MIG_CONFIG_DEVICES" "all") }}
{{- end }}
{{- if $s.migManager }}
{{- $env = append $env (list "MIG_MANAGER" true) }}
{{- $env = append $env (list "MIG_DRAIN_TIMEOUT" $v.migManager.drainTimeout) }}
{{- if $v.migManager.config.name }}
{{- $env = append $env (list "MIG_CONFIG_FILE" "/mig-parted-config/config.yaml") }}
{{- end }}
{{- end }}
{{- if $s.dra }}
{{- $env = append $env (list "TRANCHE_DRA" true) }}
{{- $env = append $env (list "TRANCHE_DRA_EVICT_AFTER" $v.dra.evictAfter) }}
{{- if $s.dynamicMig }}
{{- $env = append $env (list "TRANCHE_DRA_DYNAMIC_MIG" true) }}
{{- end }}
{{- end }}
{{- /* Without claims too: those of before dra.enabled was set to false end by this agent. */}}
{{- $env = append $env (list "TRANCHE_DRA_DRIVER_NAME" $v.dra.driverName) }}
{{- $env = append $env (list "KUBELET_PLUGINS_DIRECTORY_PATH" (printf "%s/plugins" $v.kubeletRoot)) }}
{{- $env = append $env (list "KUBELET_REGISTRAR_DIRECTORY_PATH" (printf "%s/plugins_registry" $v.kubeletRoot)) }}
{{- range $env }}
- name: {{ index . 0 }}
  value: {{ include "tranche.list" (index . 1) | quote }}
{{- end }}
{{- with $v.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* What the agent sees of its node: (name, host path, path in the container, mount, kind). The state folder
has one path in both, because containers with limits mount from it. */}}
{{- define "tranche.agentFolders" -}}
{{- $v := (index . 0).Values -}}
{{- $s := index . 1 -}}
{{- $folders := list
      (dict "name" "state" "host" $v.stateDir "path" $v.stateDir "type" "DirectoryOrCreate") -}}
{{- if $v.devicePlugin.enabled -}}
{{- $folders = concat $folders (list
      (dict "name" "device-plugins" "host" (printf "%s/device-plugins" $v.kubeletRoot) "path" "/var/lib/kubelet/device-plugins" "type" "Directory")
      (dict "name" "pod-resources" "host" (printf "%s/pod-resources" $v.kubeletRoot) "path" "/var/lib/kubelet/pod-resources" "type" "DirectoryOrCreate" "readOnly" (not $v.metrics.podResourcesSocket))) -}}
{{- else -}}
{{- $folders = append $folders (dict "name" "device-plugins" "path" "/var/lib/kubelet/device-plugins") -}}
{{- end -}}
{{- /* Also without claims: `helm rollback` applies an old manifest, and those that are prepared have to end
(docs/decisions/0057-claims-end.md). Kubelet is told the sockets' paths, so they are the host's. */ -}}
{{- $folders = concat $folders (list
      (dict "name" "plugins-registry" "host" (printf "%s/plugins_registry" $v.kubeletRoot) "path" (printf "%s/plugins_registry" $v.kubeletRoot) "type" "DirectoryOrCreate")
      (dict "name" "dra-plugin" "host" (printf "%s/plugins/%s" $v.kubeletRoot $v.dra.driverName) "path" (printf "%s/plugins/%s" $v.kubeletRoot $v.dra.driverName) "type" "DirectoryOrCreate")
      (dict "name" "cdi-root" "host" "/var/run/cdi" "path" "/var/run/cdi" "type" "DirectoryOrCreate")) -}}
{{- if $s.findings -}}
{{- $folders = append $folders (dict "name" "arbiter-state" "host" $v.limits.arbiterStateDir "path" $v.limits.arbiterStateDir "type" "DirectoryOrCreate" "readOnly" true) -}}
{{- end -}}
{{- if eq $s.labelOutput "file" -}}
{{- $folders = append $folders (dict "name" "features" "host" "/etc/kubernetes/node-feature-discovery/features.d" "path" "/etc/kubernetes/node-feature-discovery/features.d" "type" "DirectoryOrCreate") -}}
{{- end -}}
{{- if or $s.cdi $v.nvidiaDriverRoot -}}
{{- $folders = append $folders (dict "name" "driver-root" "host" ($v.nvidiaDriverRoot | default "/") "path" "/driver-root" "type" "Directory" "readOnly" true "mountPropagation" "HostToContainer") -}}
{{- end -}}
{{- if $s.mps -}}
{{- /* Its lock is asked for where MIG instances are made, and who locks a file has to write it. Where claims are served
       the daemons are told so by a file. */ -}}
{{- $folders = append $folders (dict "name" "mps-root" "host" $v.mps.root "path" "/mps" "type" "DirectoryOrCreate" "readOnly" (not (or $s.migManager $s.dra))) -}}
{{- end -}}
{{- if $s.volumeMounts -}}
{{- $folders = append $folders (dict "name" "all-devices" "host" "/dev/null" "path" "/var/run/nvidia-container-devices/all" "type" "CharDevice") -}}
{{- end -}}
{{- if and $s.migManager $v.migManager.config.name -}}
{{- $folders = append $folders (dict "name" "mig-parted-config" "configMap" $v.migManager.config.name "path" "/mig-parted-config" "readOnly" true) -}}
{{- end -}}
{{- if $s.metrics -}}
{{- with $v.metrics.tls.secretName -}}
{{- $folders = append $folders (dict "name" "metrics-tls" "secret" . "path" "/metrics-tls" "readOnly" true) -}}
{{- end -}}
{{- with $v.metrics.token.secretName -}}
{{- $folders = append $folders (dict "name" "metrics-token" "secret" . "path" "/metrics-token" "readOnly" true) -}}
{{- end -}}
{{- end -}}
{{- dict "folders" $folders | toJson -}}
{{- end }}

{{/* (dict probe command): an exec probe; nothing when it is null. */}}
{{- define "tranche.probe" -}}
{{- if .probe -}}
{{- merge (dict "exec" (dict "command" .command)) .probe | toYaml -}}
{{- end -}}
{{- end }}

{{/* A list of folders as above: the container's mounts of them, and the Pod's volumes. */}}
{{- define "tranche.mounts" -}}
volumeMounts:
{{- range . }}
- name: {{ .name }}
  mountPath: {{ .path }}
  {{- if .readOnly }}
  readOnly: true
  {{- end }}
  {{- with .mountPropagation }}
  mountPropagation: {{ . }}
  {{- end }}
{{- end }}
{{- end }}

{{- define "tranche.volumes" -}}
volumes:
{{- range . }}
- name: {{ .name }}
  {{- if .host }}
  hostPath:
    path: {{ .host | quote }}
    type: {{ .type }}
  {{- else if .configMap }}
  # Without it the node serves as before, and the agent says what it lacks.
  configMap: {name: {{ .configMap | quote }}, optional: true}
  {{- else if .secret }}
  # Without it the node serves as before, and nobody is given metrics.
  secret: {secretName: {{ .secret | quote }}, optional: true}
  {{- else }}
  emptyDir: {}
  {{- end }}
{{- end }}
{{- end }}
