#include "agent/cleanup/claims_in_the_way.h"

#include <fmt/format.h>

#include <vector>

#include "base/dra_driver.h"
#include "base/first_few.h"
#include "base/fs.h"
#include "cluster/kinds.h"
#include "cluster/resource_claim.h"
#include "dra/names.h"
#include "dra/prepared.h"

namespace tranche::agent {
namespace {

constexpr std::size_t kClaimsNamed = 20;  // how many claims a message names
constexpr std::size_t kLargestRecord = std::size_t{256} << 10U;
constexpr std::string_view kRecordSuffix = ".json";

Result<void> refuse(const std::vector<std::string>& lines) {
  if (lines.empty()) return {};
  return fail(Code::kFailedPrecondition,
              fmt::format("claims are in use, so nothing is changed: without an agent their Pods "
                          "would stay Terminating: {}",
                          first_few(lines, kClaimsNamed)),
              "delete these Pods and run it again; or go on all the same with --force (the chart's "
              "cleanup.force=true, by helm rollback RELEASE REVISION and helm upgrade)");
}

// The node whose agent publishes the device; nullptr: none of them.
const std::string* node_of(const cluster::AllocatedDevice& device,
                           const std::set<std::string>& nodes) {
  for (const auto& node : nodes) {
    // Earlier releases had one name of the pool for every name of the driver.
    if (device.pool == dra::pool_name(node, device.driver)) return &node;
    if (device.pool == dra::pool_name(node, kDefaultDraDriver)) return &node;
  }
  return nullptr;
}

std::string line_of(const std::string& node, const cluster::ResourceClaim& claim) {
  std::vector<std::string> users;
  for (const auto& user : claim.reserved_for) users.push_back(user.name);
  return fmt::format("{} on {} (of {})", claim.key.to_string(), node,
                     first_few(users, kClaimsNamed));
}

}  // namespace

Result<void> check_claims_of(cluster::Objects& objects, const std::set<std::string>& nodes,
                             const cluster::Call& call) {
  const auto list = objects.list(cluster::kResourceClaim, {}, call);
  if (!list && list.error().code == Code::kNotFound) return {};
  if (!list) {
    auto error = list.error();
    return std::unexpected(std::move(error).with_context(
        "which claims are in use is not known, so nothing is changed"));
  }
  std::vector<std::string> lines;
  for (const auto& item : list->items) {
    ASSIGN_OR_RETURN(const auto claim, cluster::parse_resource_claim(item.json));
    if (claim.reserved_for.empty()) continue;
    for (const auto& device : claim.devices) {
      const auto* const node = node_of(device, nodes);
      if (node == nullptr) continue;
      lines.push_back(line_of(*node, claim));
      break;
    }
  }
  return refuse(lines);
}

Result<void> check_claims_here(const std::filesystem::path& state_dir, const std::string& boot) {
  const FsRoot fs;
  const auto folder = state_dir / "claims";
  const auto names = fs.list(folder);
  if (!names && names.error().code == Code::kNotFound) return {};
  if (!names) return std::unexpected(names.error());
  std::vector<std::string> lines;
  for (const auto& name : *names) {
    if (name.starts_with('.') || !name.ends_with(kRecordSuffix)) continue;
    const auto text = fs.read(folder / name, kLargestRecord);
    if (!text && text.error().code == Code::kNotFound) continue;
    const auto claim = text ? dra::decode_prepared(*text)
                            : Result<dra::PreparedClaim>(std::unexpected(text.error()));
    if (!claim) {
      lines.push_back((folder / name).string() + " (cannot be read)");
    } else if (claim->boot == boot) {
      lines.push_back(claim->ns + '/' + claim->name);
    }
  }
  return refuse(lines);
}

}  // namespace tranche::agent
