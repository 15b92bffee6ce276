#pragma once
// A DaemonSet (apps/v1): its owner, and the progress of its last change.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cluster/metadata.h"
#include "cluster/object.h"

namespace tranche::cluster {

struct DaemonSet {
  ObjectKey key;
  std::string uid;
  std::string resource_version;
  std::int64_t generation = 0;
  StringMap labels;
  std::vector<OwnerReference> owners;
  StringMap selector;  // spec.selector.matchLabels
  // Counts the changes of the Pod template; its Pods carry it as the label pod-template-generation.
  // From the annotation deprecated.daemonset.template.generation.
  std::string template_generation;
  // status: the generation it refers to, and numbers of nodes.
  std::int64_t observed_generation = 0;
  std::int64_t desired = 0;
  std::int64_t updated = 0;  // nodes whose Pod has the newest template
  std::int64_t ready = 0;

  bool operator==(const DaemonSet&) const = default;

  // Whether every node that should have a Pod has a ready one of the newest template.
  bool rolled_out() const {
    return observed_generation >= generation && updated >= desired && ready >= desired;
  }
  // "a=b,c=d": the selector for listing its Pods.
  std::string selector_text() const;
};

Result<DaemonSet> parse_daemon_set(std::string_view json);

}  // namespace tranche::cluster
