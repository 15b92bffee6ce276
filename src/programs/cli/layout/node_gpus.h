#pragma once
// The GPUs that a node's agent has published (cluster/formats/gpu_node.h), for `tranche layout
// show` of a node. Pure, except for reading.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/json_value.h"
#include "cluster/formats/gpu_node.h"
#include "cluster/objects.h"

namespace tranche::cli {

struct NodeGpus {
  bool published = false;
  std::vector<cluster::GpuNodeGpu> gpus{};
  std::vector<cluster::GpuNodeResource> resources{};
  std::string trouble{};  // why it is unknown; "": it is known
};

NodeGpus read_node_gpus(cluster::Objects& objects, const std::string& node);

// "3g.40gb, 1g.10gb x 2", "MIG on, no instances", "MIG off"
std::string mig_text(const cluster::GpuNodeGpu& gpu);
// For people, one line for each GPU; "": nothing is published.
std::string describe(const NodeGpus& gpus);
// What the agent serves and the Node does not tell yet: kubelet tells it every 10 s. "" if there is
// nothing. `offers`: of the Node.
std::string soon_text(const NodeGpus& gpus, const std::map<std::string, std::int64_t>& offers);
// "gpus" of layout-node/v1.
json::Value document_of(const NodeGpus& gpus);

}  // namespace tranche::cli
