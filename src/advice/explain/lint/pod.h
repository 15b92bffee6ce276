#pragma once
// Pods, and the Pod templates of workloads: their claims, fractions of GPUs, and resources that no
// node offers. Pure.

#include "explain/lint/place.h"
#include "explain/lint/surroundings.h"

namespace tranche::lint {

// Whether the object contains a Pod: kinds of v1, apps and batch.
bool holds_pod(const Place& object);
void check_pod(const Place& object, const Surroundings& around);

// Parts, one file each.
// Annotations of ours. `pod`: a Pod, or the template of one.
void check_pod_annotations(const Place& pod);
// spec.resourceClaims, and the claims of containers. `spec`: the Pod's.
void check_pod_claims(const Place& spec);
// limits and requests of its containers.
void check_pod_resources(const Place& spec, const Surroundings& around);
// What the admission webhook would make of the object.
void check_fractions(const Place& object, const Surroundings& around);

}  // namespace tranche::lint
