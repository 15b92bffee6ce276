{{/*
(dict root name account counts): events about objects without a namespace (Node, ClusterPolicy) are kept in
the namespace "default"; the API server takes them nowhere else.
`counts`: what happens again is counted in the Event that is there.
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
  verbs: [create{{ if .counts }}, patch{{ end }}]
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
