#include "admission/claim_names.h"

#include <algorithm>

#include "admission/label.h"
#include "admission/names.h"

namespace tranche::admission {

ClaimNames::ClaimNames(const PodParts& pod, const Past& past) : past_(past) {
  for (const auto& claim : pod.claims) claims_[claim.name] = &claim;
  for (const auto& container : pod.containers) {
    for (const auto& claim : container.claims) users_[claim.name].insert(container.name);
  }
}

void ClaimNames::take_those_of(const Container& container) {
  const auto* record = past_.record_of(container.name);
  if (record != nullptr && !record->claim.empty()) taken_.insert(record->claim);
}

void ClaimNames::give_back(const std::vector<std::string>& containers) {
  for (const auto& container : containers) {
    if (const auto* record = past_.record_of(container)) taken_.erase(record->claim);
  }
}

std::string ClaimNames::name_for(const std::vector<std::string>& owners,
                                 const std::string& template_name) {
  const std::string prefix(kOurPrefix);
  const auto base = owners.size() == 1 ? dns_label(prefix + "-" + owners.front()) : prefix;
  int number = 1;
  while (!may_take(numbered_label(base, number), owners, template_name)) ++number;
  return *taken_.insert(numbered_label(base, number)).first;
}

bool ClaimNames::may_take(const std::string& name, const std::vector<std::string>& owners,
                          const std::string& template_name) const {
  if (taken_.contains(name)) return false;
  const auto found = claims_.find(name);
  if (found == claims_.end()) return true;
  const bool is_recorded = std::ranges::any_of(owners, [&](const std::string& owner) {
    const auto* record = past_.record_of(owner);
    return record != nullptr && record->claim == name;
  });
  if (is_recorded && past_.is_our_claim(name)) return true;
  // What we would write is there, though the record is lost.
  const auto users = users_.find(name);
  return found->second->template_name == template_name && users != users_.end() &&
         users->second == std::set<std::string>(owners.begin(), owners.end());
}

}  // namespace tranche::admission
