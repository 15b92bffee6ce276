#pragma once
// One row of the view: a node, a GPU, a MIG instance, a container, or a process, with what it is
// part of. Rows borrow the Reading that they are made from.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "top/view/reading.h"

namespace tranche::top {

enum class RowKind { kNode, kGpu, kInstance, kContainer, kProcess };

struct Row {
  RowKind kind = RowKind::kNode;
  std::string id;  // the same in the next reading
  std::size_t depth = 0;
  bool has_children = false;
  bool closed = false;  // its children are not shown
  // What it is, and what it is part of; null: not known, or there is none.
  const fleet::FleetNode* node = nullptr;
  const usage::GpuUsage* gpu = nullptr;
  const usage::InstanceUsage* instance = nullptr;
  const usage::ContainerFigures* container = nullptr;
  const usage::ProcessUsage* process = nullptr;
};

// What a row says, from its own part alone. nullopt: unknown, or it does not have this.
struct RowFigures {
  std::optional<std::uint64_t> used{};
  std::optional<std::uint64_t> peak{};
  std::optional<std::uint64_t> limit{};  // of a GPU or node: all that there is
  std::optional<double> compute{};       // 0 to 1
  std::optional<double> promised{};
  std::optional<double> waited{};
};
RowFigures figures_of(const Row& row);

// Without control characters; "?" where the name is not known.
std::string name_of(const Row& row);
// "team-a/train-0/main", empty names as "?".
std::string container_name(const std::string& ns, const std::string& pod,
                           const std::string& container);

}  // namespace tranche::top
