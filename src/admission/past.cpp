#include "admission/past.h"

#include <algorithm>

#include "admission/claim_template.h"
#include "admission/names.h"
#include "admission/template_name.h"

namespace tranche::admission {
namespace {

std::optional<Amount> amount_of(const Container& container) {
  const auto ask = read_ask(container.name, container.resources, true);
  return ask ? ask->amount : std::nullopt;
}

bool refers_to(const Container& container, const std::string& claim) {
  return std::ranges::find(container.claims, claim, &ContainerClaim::name) !=
         container.claims.end();
}

}  // namespace

Past::Past(const PodParts& pod, const std::optional<PodParts>& applied)
    : pod_(pod), has_applied_(applied.has_value()) {
  if (const auto found = pod.annotation.find(std::string(kRecordAnnotation));
      found != pod.annotation.end()) {
    auto records = parse_records(found->second);
    is_unreadable_ = !records || records->empty();
    if (records) records_ = *std::move(records);
  }
  std::set<std::string> recorded;
  for (const auto& [container, record] : records_) recorded.insert(record.claim);
  for (const auto& claim : pod.claims) {
    if (!recorded.contains(claim.name)) continue;
    if (auto shares = parse_template_name(claim.template_name)) shares_[claim.name] = *shares;
  }
  if (!applied) return;
  for (const auto& container : applied->containers) {
    if (const auto amount = amount_of(container)) applied_[container.name] = to_string(*amount);
  }
}

const Record* Past::record_of(const std::string& container) const {
  const auto found = records_.find(container);
  return found == records_.end() ? nullptr : &found->second;
}

bool Past::is_settled(const Container& container, const Ask& ask) const {
  const auto* record = record_of(container.name);
  if (record == nullptr || !is_still_applied(container.name, *record)) return false;
  if (ask.amount) {
    const bool is_replica = record->resource == kGpuResource && *ask.amount == Amount{.whole = 1};
    const auto memory = std::string(kMemoryAnnotation);
    return is_replica && !pod_.annotation.contains(memory) &&
           !pod_.annotation.contains(memory + "." + container.name);
  }
  if (record->claim.empty()) return is_our_resource(container, record->resource);
  return is_our_claim(record->claim) && refers_to(container, record->claim);
}

bool Past::is_our_resource(const Container& container, const std::string& resource) const {
  const auto* record = record_of(container.name);
  if (record == nullptr || resource.empty() || record->resource != resource) return false;
  const auto value = container.resources.at({"limits", resource});
  const auto amount = value ? parse_amount(*value) : Result<Amount>();
  return amount && *amount == Amount{.whole = 1};
}

std::optional<Share> Past::settled_share(const Container& container) const {
  const auto* record = record_of(container.name);
  const auto claim = record == nullptr ? shares_.end() : shares_.find(record->claim);
  if (claim == shares_.end()) return std::nullopt;
  const auto& shares = claim->second;
  for (const auto& one : container.claims) {
    if (one.name != claim->first) continue;
    for (std::size_t i = 0; i < shares.size(); ++i) {
      if (shares.size() == 1 || one.request == request_name(i, shares.size())) return shares[i];
    }
  }
  return std::nullopt;
}

std::string Past::original_of(const Container& container) const {
  if (const auto amount = amount_of(container)) return to_string(*amount);
  const auto* record = record_of(container.name);
  return record == nullptr ? "" : record->gpu;
}

std::optional<std::string> Past::applied_of(const std::string& container) const {
  const auto found = applied_.find(container);
  return found == applied_.end() ? std::nullopt : std::optional(found->second);
}

bool Past::is_still_applied(const std::string& container, const Record& record) const {
  return !record.applied || !has_applied_ || applied_of(container) == record.gpu;
}

}  // namespace tranche::admission
