#pragma once
// How the configuration shares one resource, in the terms of the labels.

#include <span>
#include <string>

#include "config/config.h"

namespace tranche::labels {

// One device of a resource, with the names that `devices:` of a sharing entry may use for it.
struct DeviceRef {
  std::string index;     // "0", "0:1"
  std::string uuid;      // "GPU-...", "MIG-..."
  std::string legacy;    // "MIG-GPU-<uuid>/<gi>/<ci>"; empty for a GPU
  bool labelled = true;  // the label set is about this device
};

struct ResourceSharing {
  int replicas = 1;
  bool renamed = false;
  config::SharingStrategy strategy = config::SharingStrategy::kNone;

  bool shared() const { return replicas > 1; }
};

// The sharing of `resource`, whose devices are `devices` in order. Entries may differ between
// devices (tranche.honorIgnoredFields) or repeat the resource. Then the entry with the most
// replicas that covers a labelled device counts; among equal entries the first.
ResourceSharing sharing_of(const config::Sharing& sharing, const config::ResourceName& resource,
                           std::span<const DeviceRef> devices);

}  // namespace tranche::labels
