#include "admission/claim_names.h"

#include "admission/label.h"
#include "admission/names.h"

namespace tranche::admission {

ClaimNames::ClaimNames(const PodParts& pod, const Past& past) : past_(past) {
  for (const auto& claim : pod.claims) claims_.insert(claim.name);
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

std::string ClaimNames::name_for(const std::vector<std::string>& owners) {
  const std::string prefix(kOurPrefix);
  const auto base = owners.size() == 1 ? dns_label(prefix + "-" + owners.front()) : prefix;
  int number = 1;
  while (!may_take(numbered_label(base, number))) ++number;
  return *taken_.insert(numbered_label(base, number)).first;
}

bool ClaimNames::may_take(const std::string& name) const {
  return !taken_.contains(name) && (!claims_.contains(name) || past_.is_our_claim(name));
}

}  // namespace tranche::admission
