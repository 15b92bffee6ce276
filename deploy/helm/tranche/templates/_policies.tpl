{{/* Variables and rules of the policies that hold tokens of ours: admission-policy.yaml, controller-admission.yaml. */}}

{{/* Which metadata a request sets to something else than before, and takes away, apart from what the API server writes
itself, and labels and annotations, which have rules of their own. Nobody but the API server writes the name of what is
there already. */}}
{{- define "tranche.policy.metadata" -}}
- name: metadata
  expression: 'object == null ? {} : object.metadata'
- name: oldMetadata
  expression: 'oldObject == null ? {} : oldObject.metadata'
- name: freeMetadata
  expression: >-
    ["labels", "annotations", "managedFields", "resourceVersion", "generation"]
    + (request.operation == "CREATE" ? ["name", "generateName", "namespace", "uid", "creationTimestamp"] : [])
- name: setMetadata
  expression: >-
    variables.metadata.map(k, k).filter(k, !(k in variables.freeMetadata)
    && !(k in variables.oldMetadata && variables.metadata[k] == variables.oldMetadata[k]))
- name: unsetMetadata
  expression: variables.oldMetadata.map(k, k).filter(k, !(k in variables.freeMetadata) && !(k in variables.metadata))
- name: owners
  expression: >-
    "ownerReferences" in variables.setMetadata ? object.metadata.ownerReferences : []
{{- end }}

{{/* Of an Event: what names somebody else as its source, or a second object, stays empty. */}}
{{- define "tranche.policy.events" -}}
- expression: >-
    !variables.isEvent || object.all(k, k in ["apiVersion", "kind", "metadata", "eventTime", "series", "reportingController",
    "reportingInstance", "action", "reason", "regarding", "note", "type"] || object[k] == null || object[k] == {})
  message: >-
    Events of ours have no field but eventTime, series, reportingController, reportingInstance, action, reason, regarding,
    note and type
{{- end }}
