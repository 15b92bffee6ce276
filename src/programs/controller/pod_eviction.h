#pragma once
// What the workers that evict Pods share: which Pods are protected, one attempt, and the Event on
// the Pod.

#include <string>

#include "base/result.h"
#include "cluster/client/event_recorder.h"
#include "cluster/objects.h"
#include "cluster/pod.h"

namespace tranche::controller {

// Why the Pod is protected; empty: it may be evicted. Protected are static Pods, those of
// kube-system and of `own_namespace` (the release's), and those of Kubernetes' own priority classes
// (system-node-critical, system-cluster-critical).
std::string objection_to_eviction(const cluster::Pod& pod, const std::string& own_namespace);

enum class Eviction {
  kAsked,  // the API server accepted; the Pod ends after its grace period
  kGone,   // there is no such Pod any more; another may have its name
};
// One attempt, for this Pod's uid only. kUnavailable: a PodDisruptionBudget does not allow it now,
// or the API server does not answer.
Result<Eviction> evict_once(cluster::Objects& objects, const cluster::Pod& pod,
                            const cluster::Call& call);

// A warning Event on the Pod, with the action Evict.
void tell_of_eviction(cluster::EventRecorder& events, const cluster::Pod& pod, std::string reason,
                      std::string note, const cluster::Call& call);

}  // namespace tranche::controller
