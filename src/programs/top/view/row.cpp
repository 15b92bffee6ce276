#include "top/view/row.h"

#include <fmt/format.h>

#include "base/printable.h"

namespace tranche::top {
namespace {

constexpr std::size_t kLongestName = 256;

std::string shown(const std::string& text) {
  return text.empty() ? "?" : printable(text, kLongestName);
}

RowFigures figures_of_node(const usage::NodeUsage& usage) {
  RowFigures figures;
  double busy = 0;
  int known = 0;
  for (const auto& gpu : usage.gpus) {
    if (gpu.memory_used) figures.used = figures.used.value_or(0) + *gpu.memory_used;
    if (gpu.memory_total) figures.limit = figures.limit.value_or(0) + *gpu.memory_total;
    if (!gpu.utilization) continue;
    busy += *gpu.utilization;
    ++known;
  }
  if (known > 0) figures.compute = busy / known;
  return figures;
}

RowFigures figures_of_container(const usage::ContainerFigures& container) {
  return {.used = container.memory_used,
          .peak = container.memory_peak,
          .limit = container.memory_limit,
          .compute = container.compute_share,
          .promised = container.compute_promised,
          .waited = container.waited_share};
}

std::string process_name(const usage::ProcessUsage& process) {
  std::string name = fmt::format("{} {}", process.pid, shown(process.name));
  switch (process.owner) {
    case usage::ProcessOwner::kHost:
      return name + " (host)";
    case usage::ProcessOwner::kUnknown:
      return name + " (whose: unknown)";
    case usage::ProcessOwner::kContainer:
      return name;
  }
  return name;
}

}  // namespace

std::string container_name(const std::string& ns, const std::string& pod,
                           const std::string& container) {
  // Of other namespaces' containers the controller tells no names to who may not see them.
  if (ns.empty() && pod.empty() && container.empty()) return "(another namespace's)";
  return fmt::format("{}/{}/{}", shown(ns), shown(pod), shown(container));
}

RowFigures figures_of(const Row& row) {
  switch (row.kind) {
    case RowKind::kNode:
      return figures_of_node(row.node->usage);
    case RowKind::kGpu:
      return {.used = row.gpu->memory_used,
              .limit = row.gpu->memory_total,
              .compute = row.gpu->utilization};
    case RowKind::kInstance:
      return {.limit = row.instance->memory};
    case RowKind::kContainer:
      return figures_of_container(*row.container);
    case RowKind::kProcess:
      return {.used = row.process->memory, .compute = row.process->busy};
  }
  return {};
}

std::string name_of(const Row& row) {
  switch (row.kind) {
    case RowKind::kNode:
      return shown(row.node->name);
    case RowKind::kGpu:
      return fmt::format("{} {}", row.gpu->index, shown(row.gpu->model));
    case RowKind::kInstance:
      return fmt::format("MIG {} (instance {})", shown(row.instance->profile),
                         row.instance->gpu_instance);
    case RowKind::kContainer:
      return container_name(row.container->ns, row.container->pod, row.container->container);
    case RowKind::kProcess:
      return process_name(*row.process);
  }
  return {};
}

}  // namespace tranche::top
