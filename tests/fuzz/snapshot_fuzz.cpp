// Arbitrary text as a snapshot/v1 file, as the content of one with a valid checksum, as a GPUTier,
// and as the API server's objects for a snapshot. What is accepted must be the same after writing
// and reading again, also without names; a refusal must have a reason.

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/canonical_json.h"
#include "base/checksum.h"
#include "base/json.h"
#include "cluster/snapshot/anonymize.h"
#include "cluster/snapshot/encoding.h"
#include "cluster/snapshot/parts.h"

namespace {

using namespace tranche;

void require(bool holds) {
  if (!holds) std::abort();
}

template <class T>
bool refused(const Result<T>& result) {
  if (result) return false;
  require(result.error().code == Code::kInvalidArgument && !result.error().what.empty());
  return true;
}

// The anonymous file can be read, and the same names give the same file.
void check_anonymous(const cluster::Snapshot& snapshot, std::uint64_t seed) {
  const auto anonymous = cluster::anonymize(snapshot, seed);
  const auto read = cluster::decode(cluster::encode(anonymous));
  require(read && *read == anonymous);
  require(cluster::anonymize(snapshot, seed) == anonymous);
}

void check_file(std::string_view text) {
  const auto snapshot = cluster::decode(text);
  if (refused(snapshot)) return;
  const auto written = cluster::encode(*snapshot);
  const auto again = cluster::decode(written);
  require(again && *again == *snapshot);
  require(cluster::encode(*again) == written);
  check_anonymous(*snapshot, text.size());
}

// No mutation hits a checksum, so it is put around the content, as an author by hand would.
void check_content(std::string_view content) {
  const auto view = json::parse(content);
  if (!view) return;
  const auto parsed = nlohmann::json::parse(content, nullptr, false);
  const auto text = parsed.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  const auto canonical = json::canonical_text(*view);
  require(canonical.has_value() != parsed.is_discarded() && canonical.value_or(text) == text);
  check_file(fmt::format(R"({{"checksum":"{:016x}","snapshot":{},"version":"{}"}})", checksum(text),
                         content, cluster::kSnapshot.version));
}

void check_tier(std::string_view text) {
  const auto tier = cluster::parse_gpu_tier(text);
  if (refused(tier)) return;
  require(cluster::parse_gpu_tier(cluster::to_json(*tier)) == *tier);
  for (const auto& problem : cluster::validate(*tier)) require(!problem.empty());
  require(cluster::resource_of(*tier) == tier->resource || !tier->resource);
  for (const auto& name : tier->namespaces.names) require(cluster::allows(*tier, name, {}));
  for (const auto& rule : tier->quotas) {
    require(cluster::limit_of(*tier, rule.ns.value_or("")).has_value());
  }
}

// A snapshot of what an API server answers can be read, whatever it answered.
void check_parts(std::string_view text) {
  cluster::Snapshot snapshot;
  const auto add = [](auto& values, auto parsed) {
    if (!refused(parsed)) values.push_back(*std::move(parsed));
  };
  if (auto node = cluster::parse_node(text)) {
    snapshot.nodes.push_back({.node = *std::move(node), .configuration = std::nullopt});
  }
  add(snapshot.pods, cluster::parse_snapshot_pod(text));
  add(snapshot.config_maps, cluster::parse_config_map(text));
  add(snapshot.cluster_policies, cluster::parse_cluster_policy(text));
  add(snapshot.tiers, cluster::parse_gpu_tier(text));
  add(snapshot.namespaces, cluster::parse_namespace(text));
  add(snapshot.quotas, cluster::parse_resource_quota(text));
  add(snapshot.budgets, cluster::parse_disruption_budget(text));
  add(snapshot.slices, cluster::parse_resource_slice(text));
  add(snapshot.claims, cluster::parse_snapshot_claim(text));
  add(snapshot.device_classes, cluster::parse_device_class(text));
  add(snapshot.gpu_nodes, cluster::parse_gpu_node(text));
  const auto again = cluster::decode(cluster::encode(snapshot));
  require(again && *again == cluster::sorted(std::move(snapshot)));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check_file(text);
  check_content(text);
  check_tier(text);
  check_parts(text);
  return 0;
}
