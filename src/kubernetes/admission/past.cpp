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

std::map<std::string, const Container*> by_name(const std::optional<PodParts>& pod) {
  std::map<std::string, const Container*> map;
  if (!pod) return map;
  for (const auto& container : pod->containers) map[container.name] = &container;
  return map;
}

bool refers_to(const Container& container, const std::string& claim) {
  return std::ranges::find(container.claims, claim, &ContainerClaim::name) !=
         container.claims.end();
}

bool has_one(const Container& container, const char* which, const std::string& resource) {
  const auto value = container.resources.at({which, resource});
  const auto amount = value ? parse_amount(*value) : Result<Amount>();
  return amount && *amount == Amount{.whole = 1};
}

// The share of the claim's request `request`.
std::optional<Share> share_in(const std::vector<Share>& shares, const std::string& request) {
  if (shares.size() == 1) return shares.front();
  for (std::size_t i = 0; i < shares.size(); ++i) {
    if (request == request_name(i, shares.size())) return shares[i];
  }
  return std::nullopt;
}

}  // namespace

Past::Past(const PodParts& pod, const Manifests& manifests)
    : pod_(pod),
      has_both_(manifests.now.has_value() && manifests.before.has_value()),
      now_(by_name(manifests.now)),
      before_(by_name(manifests.before)) {
  if (const auto found = pod.annotation.find(std::string(kRecordAnnotation));
      found != pod.annotation.end()) {
    auto records = parse_records(found->second);
    is_unreadable_ = !records || records->empty();
    if (records) records_ = *std::move(records);
  }
  find_claims();
  complete_records();
}

void Past::find_claims() {
  const auto prefix = std::string(kOurPrefix) + "-";
  for (const auto& claim : pod_.claims) {
    if (claim.name != kOurPrefix && !claim.name.starts_with(prefix)) continue;
    if (auto shares = parse_template_name(claim.template_name)) shares_[claim.name] = *shares;
  }
}

void Past::complete_records() {
  for (const auto& container : pod_.containers) {
    const auto found = records_.find(container.name);
    if (found != records_.end() && refers_to(container, found->second.claim)) continue;
    for (const auto& claim : container.claims) {
      const auto shares = shares_.find(claim.name);
      if (shares == shares_.end()) continue;
      const auto share = share_in(shares->second, claim.request);
      if (!share) continue;
      const Amount gpu = share->memory ? Amount{.whole = 1} : Amount{.hundredths = share->percent};
      records_[container.name] = {.gpu = to_string(gpu), .claim = claim.name};
      break;
    }
  }
}

const Record* Past::record_of(const std::string& container) const {
  const auto found = records_.find(container);
  return found == records_.end() ? nullptr : &found->second;
}

bool Past::is_settled(const Container& container, const Ask& ask) const {
  const auto* record = record_of(container.name);
  if (record == nullptr || is_taken_out(container.name)) return false;
  if (!record->claim.empty()) {
    return !ask.amount && is_our_claim(record->claim) && refers_to(container, record->claim);
  }
  if (!has_one(container, "limits", record->resource)) return false;
  if (!ask.amount) return true;
  const auto memory = std::string(kMemoryAnnotation);
  return record->resource == kGpuResource && *ask.amount == Amount{.whole = 1} &&
         !pod_.annotation.contains(memory) &&
         !pod_.annotation.contains(memory + "." + container.name);
}

bool Past::is_our_resource(const Container& container, const std::string& resource) const {
  const auto* record = record_of(container.name);
  if (record == nullptr || resource.empty() || record->resource != resource) return false;
  return has_one(container, "limits", resource) || has_one(container, "requests", resource);
}

std::optional<Share> Past::settled_share(const Container& container) const {
  const auto* record = record_of(container.name);
  const auto claim = record == nullptr ? shares_.end() : shares_.find(record->claim);
  if (claim == shares_.end()) return std::nullopt;
  const auto use = std::ranges::find(container.claims, claim->first, &ContainerClaim::name);
  return use == container.claims.end() ? std::nullopt : share_in(claim->second, use->request);
}

std::string Past::original_of(const Container& container) const {
  if (const auto amount = amount_of(container)) return to_string(*amount);
  const auto* record = record_of(container.name);
  return record == nullptr ? "" : record->gpu;
}

bool Past::is_beyond_manifest(const Container& container, const std::string& resource) const {
  const auto written = now_.find(container.name);
  return written != now_.end() && !written->second->resources.at({"limits", resource}) &&
         !written->second->resources.at({"requests", resource});
}

// The container's request in the manifest has changed.
bool Past::is_taken_out(const std::string& container) const {
  const auto before = before_.find(container);
  if (!has_both_ || before == before_.end()) return false;
  const auto amount = amount_of(*before->second);
  const auto now = now_.find(container);
  return amount && amount != (now == now_.end() ? std::nullopt : amount_of(*now->second));
}

}  // namespace tranche::admission
