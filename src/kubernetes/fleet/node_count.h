#pragma once
// How many tranches of each kind one node has, and how many of them a new Pod could have. Pure.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "fleet/facts.h"

namespace tranche::fleet {

// One kind on one node: a row of the node's part of Fleet::capacity, without `pending`.
// allocated + withheld <= max(advertised, allocated), and `free` is what is left of it; 0 on a node
// that is closed. More can be allocated than is advertised: Pods keep what they have when the
// configuration changes.
struct NodeTranches {
  std::string resource;  // of claims Facts::driver
  usage::Mechanism mechanism = usage::Mechanism::kExclusive;
  bool by_claims = false;
  std::uint64_t advertised = 0;
  std::uint64_t allocated = 0;
  std::uint64_t withheld = 0;
  std::uint64_t free = 0;
  std::uint64_t left = 0;  // `free`, were the node open
};

using Amounts = std::map<std::string, std::uint64_t>;  // by resource

// a + b, or the largest number.
std::uint64_t sum_of(std::uint64_t a, std::uint64_t b);

// Why new Pods get no GPU of the node: "cordoned", "not ready", ...; empty: they do. `node` is null
// where only its GPUNode is known.
std::string closed_of(const NodeFacts* node);

// By resource and mechanism. `asked`: by Pods that are bound to the node and have not ended. Either
// pointer may be null. The GPUNode says how tranches are shared and what is withheld; where there
// is none, kubelet's count and the labels do. Kubelet's count is believed where it is lower: it is
// what the scheduler sees.
std::vector<NodeTranches> count_tranches(const NodeFacts* node, const cluster::GpuNode* gpu_node,
                                         const Amounts& asked);

inline bool is_instance(const std::string& device) { return device.starts_with("MIG-"); }

// How the node shares the resource, as count_tranches() tells; `gpu_node` may be null.
usage::Mechanism mechanism_on(const NodeFacts& node, const cluster::GpuNode* gpu_node,
                              const std::string& resource);

// How a resource is shared, as far as its name tells.
usage::Mechanism mechanism_by_name(const std::string& resource);

}  // namespace tranche::fleet
