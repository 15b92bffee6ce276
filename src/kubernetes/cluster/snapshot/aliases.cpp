#include "cluster/snapshot/aliases.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "base/checksum.h"
#include "base/uuid.h"

namespace tranche::cluster {
namespace {

// Every cluster has them, so they identify nobody.
constexpr std::array<std::string_view, 6> kWellKnown = {"default",           "kube-system",
                                                        "kube-public",       "kube-node-lease",
                                                        "default-scheduler", "cluster-policy"};

std::string_view prefix_of(NameKind kind) {
  static constexpr std::array<std::string_view, 19> kPrefixes = {
      "node",       "ns",     "pod",   "container", "claim",  "template", "request",
      "config-map", "config", "owner", "object",    "device", "tenant",   "GPU-",
      "MIG-",       "",       "label", "value",     "name"};
  return kPrefixes[static_cast<std::size_t>(kind)];
}

bool is_uuid_kind(NameKind kind) {
  return kind == NameKind::kGpuUuid || kind == NameKind::kMigUuid || kind == NameKind::kUid;
}

std::string numbered(NameKind kind, std::size_t number) {
  return is_uuid_kind(kind)
             ? fmt::format("{}00000000-0000-4000-8000-{:012x}", prefix_of(kind), number)
             : fmt::format("{}-{}", prefix_of(kind), number);
}

// Every bit of the seed counts for the order (the last step of SplitMix64).
std::uint64_t mixed(std::uint64_t hash) {
  hash = (hash ^ (hash >> 30U)) * 0xbf58476d1ce4e5b9U;
  hash = (hash ^ (hash >> 27U)) * 0x94d049bb133111ebU;
  return hash ^ (hash >> 31U);
}

}  // namespace

void Aliases::learn(NameKind kind, const std::string& name) {
  if (name.empty() || std::ranges::find(kWellKnown, name) != kWellKnown.end()) return;
  auto& known = learned_.emplace(name, kind).first->second;
  known = std::min(known, kind);
}

void Aliases::number() {
  std::vector<std::pair<std::uint64_t, std::string>> order;
  for (const auto& [name, kind] : learned_) {
    order.emplace_back(mixed(checksum(name) ^ seed_), name);
  }
  std::ranges::sort(order);
  for (const auto& [hash, name] : order) aliases_.emplace(name, next(learned_.at(name)));
}

std::string Aliases::alias_of(NameKind kind, const std::string& name) {
  if (name.empty() || std::ranges::find(kWellKnown, name) != kWellKnown.end()) return name;
  if (const auto* known = find(name)) return *known;
  return aliases_.emplace(name, next(kind)).first->second;
}

const std::string* Aliases::find(const std::string& name) const {
  const auto found = aliases_.find(name);
  return found == aliases_.end() ? nullptr : &found->second;
}

std::string Aliases::next(NameKind kind) {
  while (true) {
    auto alias = numbered(kind, ++used_[kind]);
    if (!learned_.contains(alias)) return alias;
  }
}

NameKind kind_of_id(std::string_view text, NameKind otherwise) {
  const bool gpu = text.starts_with("GPU-");
  if (gpu || text.starts_with("MIG-")) return gpu ? NameKind::kGpuUuid : NameKind::kMigUuid;
  return is_uuid(text) ? NameKind::kUid : otherwise;
}

}  // namespace tranche::cluster
