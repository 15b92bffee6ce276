#pragma once
// A stand-in for kube-scheduler, as small as the story needs: the first node with enough free
// devices of one resource. No priorities, no preemption, no other resources. Pure.

#include <cstddef>
#include <optional>
#include <span>
#include <string>

namespace tranche::demo {

// A node as the scheduler sees it: `allocatable` healthy devices, of which `held` are taken.
struct NodeRoom {
  int allocatable = 0;
  int held = 0;
};

struct Decision {
  std::optional<std::size_t> node;  // index into what was asked about; nullopt: the Pod is Pending
  std::string message;              // why Pending, in kube-scheduler's words
};

Decision first_fit(std::span<const NodeRoom> nodes, const std::string& resource, int count);

}  // namespace tranche::demo
