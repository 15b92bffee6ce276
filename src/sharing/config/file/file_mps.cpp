#include "config/file/file_mps.h"

#include <fmt/format.h>

namespace tranche::config {
namespace {

// The driver knows how many chunks a GPU has. No GPU has more than this.
constexpr std::int64_t kMostChunks = 256;

std::string shown(const yaml::Node& node) {
  return node.kind == yaml::Kind::kScalar ? fmt::format("'{}'", node.scalar.substr(0, 80))
                                          : std::string(yaml::describe(node.kind));
}

std::optional<int> read_protocol(const FileNode& node) {
  const auto number = yaml::as_int(node.node());
  if (number && (*number == 2 || *number == 3)) return static_cast<int>(*number);
  node.error(fmt::format("protocol must be 2 or 3, found {}", shown(node.node())),
             "write 3 for MPS v3 (driver r615 and later), or 2");
  return std::nullopt;
}

std::optional<SmPartitions> read_partitions(const FileNode& node) {
  const auto& value = node.node();
  if (value.kind == yaml::Kind::kScalar && value.scalar == "none") return SmPartitions();
  if (value.kind == yaml::Kind::kScalar && value.scalar == "equal") return EqualChunks{};
  const auto chunks = yaml::as_int(value);
  if (chunks && *chunks >= 1 && *chunks <= kMostChunks) return static_cast<int>(*chunks);
  node.error(fmt::format("smPartitions must be none, equal, or a number of chunks from 1 to {}, "
                         "found {}",
                         kMostChunks, shown(value)),
             "write equal, or the chunks of multiprocessors that each replica is to have");
  return std::nullopt;
}

}  // namespace

FileMps read_mps(const FileNode& node) {
  FileMps mps{.line = node.line()};
  const auto children = node.children(FileNode::Keys::kAnyCase);
  if (const auto* child = find_child(children, "protocol"); child != nullptr && !child->is_null()) {
    mps.protocol = read_protocol(*child);
  }
  const auto* partitions = find_child(children, "smPartitions");
  if (partitions != nullptr && !partitions->is_null()) {
    mps.sm_partitions = read_partitions(*partitions);
    mps.sm_partitions_line = partitions->line();
  }
  return mps;
}

}  // namespace tranche::config
