{{/*
(dict root name account): events about objects without a namespace (Node, ClusterPolicy) are kept in
the namespace "default"; the API server takes them nowhere else.
*/}}
{{- define "tranche.eventsInDefault" }}
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: {{ .name }}
  namespace: default
  labels:
    {{- include "tranche.labels" .root | nindent 4 }}
rules:
- apiGroups: [events.k8s.io]
  resources: [events]
  verbs: [create]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: {{ .name }}
  namespace: default
  labels:
    {{- include "tranche.labels" .root | nindent 4 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: Role
  name: {{ .name }}
subjects:
- kind: ServiceAccount
  name: {{ .account }}
  namespace: {{ include "tranche.namespace" .root }}
{{- end }}
