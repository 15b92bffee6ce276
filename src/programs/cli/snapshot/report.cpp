#include "cli/snapshot/report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/first_few.h"
#include "base/printable.h"

namespace tranche::cli {
namespace {

constexpr std::size_t kMostNames = 8;

struct Part {
  std::size_t count;
  const char* one;
  const char* several;
};

}  // namespace

std::string contents_of(const cluster::Snapshot& snapshot) {
  std::vector<std::string> parts;
  for (const auto& [count, one, several] :
       {Part{snapshot.nodes.size(), "Node", "Nodes"},
        Part{snapshot.gpu_nodes.size(), "GPUNode", "GPUNodes"},
        Part{snapshot.pods.size(), "Pod", "Pods"},
        Part{snapshot.slices.size(), "ResourceSlice", "ResourceSlices"},
        Part{snapshot.claims.size(), "ResourceClaim", "ResourceClaims"},
        Part{snapshot.device_classes.size(), "DeviceClass", "DeviceClasses"},
        Part{snapshot.config_maps.size(), "ConfigMap", "ConfigMaps"}}) {
    parts.push_back(fmt::format("{} {}", count, count == 1 ? one : several));
  }
  auto text = fmt::format("{}", fmt::join(parts, ", "));
  std::vector<std::string> maps;
  for (const auto& map : snapshot.config_maps) maps.push_back(map.key.to_string());
  if (!maps.empty()) text += fmt::format(" ({})", first_few(maps, kMostNames));
  return text;
}

bool is_missing(const cluster::Gap& gap) {
  return gap.code != Code::kNotFound || !gap.name.empty();
}

std::vector<std::string> missing_lines(const cluster::Snapshot& snapshot) {
  std::vector<std::string> lines;
  for (const auto& gap : snapshot.gaps) {
    if (!is_missing(gap)) continue;
    const auto what =
        gap.name.empty() ? gap.resource : fmt::format("{} {}", gap.resource, gap.name);
    lines.push_back(printable(fmt::format("{} could not be read: {}", what, gap.message)));
  }
  return lines;
}

}  // namespace tranche::cli
