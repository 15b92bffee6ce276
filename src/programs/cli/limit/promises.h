#pragma once
// What the configuration or a claim promises to a Pod's containers, as the node's agent publishes
// it (cluster/formats/gpu_node.h): what holds where nothing else is set. Pure, except for reading.

#include <string>
#include <vector>

#include "cluster/formats/gpu_node.h"
#include "cluster/objects.h"
#include "cluster/pod.h"

namespace tranche::cli {

// What a container is promised of one resource.
struct Promise {
  struct Part {
    std::string device;
    std::optional<cluster::GpuNodePart> part{};  // nullopt: not limited
    bool operator==(const Part&) const = default;
  };
  std::string container;
  std::string resource;  // as in LimitSetting
  std::vector<Part> parts{};
  bool operator==(const Promise&) const = default;
};

struct Promises {
  std::vector<Promise> all{};
  std::string trouble{};  // why they are not known; "": they are known
};

// `pod` runs.
Promises read_promises(cluster::Objects& objects, const cluster::Pod& pod,
                       const cluster::Call& call);

}  // namespace tranche::cli
