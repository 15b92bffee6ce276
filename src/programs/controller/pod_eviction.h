#pragma once
// What the workers that evict Pods have in common: which Pods are never evicted, one attempt, and
// the Event on the Pod.

#include <string>

#include "base/result.h"
#include "cluster/client/event_recorder.h"
#include "cluster/objects.h"
#include "cluster/pod.h"

namespace tranche::controller {

// Why the Pod is left alone; empty: it may be evicted. Left alone are static Pods, those of
// kube-system and of `own_namespace` (the release's), and those of Kubernetes' own priority classes
// (system-node-critical, system-cluster-critical).
std::string objection_to_eviction(const cluster::Pod& pod, const std::string& own_namespace);

enum class Eviction {
  kAsked,  // the API server ends the Pod, after its grace period
  kGone,   // it is gone, and another may have its name by now
};
// One attempt, for this very Pod. kUnavailable: a PodDisruptionBudget does not allow it now, or the
// API server is away.
Result<Eviction> evict_once(cluster::Objects& objects, const cluster::Pod& pod,
                            const cluster::Call& call);

// A warning on the Pod, with the action Evict.
void tell_of_eviction(cluster::EventRecorder& events, const cluster::Pod& pod, std::string reason,
                      std::string note, const cluster::Call& call);

}  // namespace tranche::controller
