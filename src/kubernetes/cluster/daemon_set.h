#pragma once
// A DaemonSet (apps/v1): who owns it, and how far its last change has come.

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
  // Counts the changes of the Pods' template; its Pods carry it as the label
  // pod-template-generation. Of the annotation deprecated.daemonset.template.generation.
  std::string template_generation;
  // status: of which generation it speaks, and numbers of nodes.
  std::int64_t observed_generation = 0;
  std::int64_t desired = 0;
  std::int64_t updated = 0;  // whose Pod is of the newest template
  std::int64_t ready = 0;

  bool operator==(const DaemonSet&) const = default;

  // Every node that shall have a Pod has one of the newest template that is ready.
  bool rolled_out() const {
    return observed_generation >= generation && updated >= desired && ready >= desired;
  }
  // "a=b,c=d": what a list of its Pods asks for.
  std::string selector_text() const;
};

Result<DaemonSet> parse_daemon_set(std::string_view json);

}  // namespace tranche::cluster
