#include "admission/record.h"

#include <algorithm>

#include "admission/amount.h"
#include "base/json.h"
#include "base/json_value.h"

namespace tranche::admission {
namespace {

constexpr std::size_t kLongestClaim = 63;
constexpr std::size_t kLongestResource = 317;  // a DNS subdomain, '/', 63 letters
// Replicas have NVIDIA's domain. Other resources in a record (cpu) are never ours to remove.
constexpr std::string_view kReplicaDomain = "nvidia.com/";

std::string text_at(json::View object, std::string_view key) {
  const auto value = object.find(key);
  return value ? value->as_string().value_or("") : "";
}

std::optional<Record> parse_record(json::View value) {
  if (value.kind() != json::Kind::kObject) return std::nullopt;
  const auto gpu = parse_amount(text_at(value, "gpu"));
  if (!gpu) return std::nullopt;
  Record record;
  record.gpu = to_string(*gpu);
  record.claim = text_at(value, "claim");
  record.resource = text_at(value, "resource");
  const bool is_claim = !record.claim.empty() && record.claim.size() <= kLongestClaim;
  const bool is_resource =
      record.resource.starts_with(kReplicaDomain) && record.resource.size() <= kLongestResource;
  if (is_claim && record.resource.empty()) return record;
  if (is_resource && record.claim.empty()) return record;
  return std::nullopt;
}

}  // namespace

std::optional<Records> parse_records(std::string_view text) {
  if (text.size() > kLongestRecords) return std::nullopt;
  const auto root = json::parse(text);
  if (!root || root->kind() != json::Kind::kObject) return std::nullopt;
  Records records;
  for (auto& member : root->members()) {
    auto record = parse_record(member.value);
    if (record) records.insert_or_assign(std::move(member.key), *std::move(record));
  }
  return records;
}

std::string to_text(const Records& records) {
  json::Value root = json::Value::object();
  for (const auto& [container, record] : records) {
    auto& value = root[container];
    value["gpu"] = record.gpu;
    if (!record.claim.empty()) value["claim"] = record.claim;
    if (!record.resource.empty()) value["resource"] = record.resource;
  }
  return root.text();
}

}  // namespace tranche::admission
