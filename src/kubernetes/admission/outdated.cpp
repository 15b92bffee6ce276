#include "admission/outdated.h"

#include <map>
#include <set>
#include <string>
#include <tuple>

#include "admission/names.h"
#include "base/json_fields.h"
#include "base/quantity.h"

namespace tranche::admission {
namespace {

using json::Fields;

// An alternative's selectors and amounts. Parsed, because the API server adds defaults to the rest
// and normalizes quantities.
using Alternative = std::tuple<std::set<std::string>, std::int64_t, std::int64_t>;
using Alternatives = std::map<std::string, std::set<Alternative>>;  // by request

std::int64_t amount_at(const Fields& amounts, std::string_view key) {
  return parse_quantity(amounts.text(key)).value_or(0);
}

Alternative read_alternative(const Fields& one) {
  std::set<std::string> expressions;
  for (const auto& selector : one.list("selectors")) {
    expressions.insert(selector.object("cel").text("expression"));
  }
  const auto amounts = one.object("capacity").object("requests");
  return {std::move(expressions), amount_at(amounts, "memory"), amount_at(amounts, "compute")};
}

// `spec`: a claim's.
Alternatives alternatives_of(const Fields& spec) {
  Alternatives found;
  for (const auto& request : spec.object("devices").list("requests")) {
    auto& here = found[request.text("name")];
    for (const auto& one : request.list("firstAvailable")) here.insert(read_alternative(one));
  }
  return found;
}

}  // namespace

bool lacks_what_is_wanted(json::View claim, const ClaimTemplate& wanted) {
  const auto made = json::parse(wanted.json);
  if (!made) return false;
  const auto now = json::read_fields(
      *made, [](const Fields& top) { return alternatives_of(top.object("spec").object("spec")); });
  const auto has = json::read_fields(
      claim, [](const Fields& top) { return alternatives_of(top.object("spec")); });
  if (!now || !has) return false;
  for (const auto& [request, alternatives] : *now) {
    const auto found = has->find(request);
    if (found == has->end()) return false;
    for (const auto& one : alternatives) {
      if (!found->second.contains(one)) return true;
    }
  }
  return false;
}

bool is_untouched(json::View claim) {
  const auto read = json::read_fields(claim, [](const Fields& top) {
    const auto metadata = top.object("metadata");
    const auto status = top.object("status");
    const auto owners = metadata.list("ownerReferences");
    const bool is_of_a_pod = owners.size() == 1 && owners.front().text("kind") == "Pod" &&
                             owners.front().boolean("controller");
    const auto finalizers = metadata.maybe<std::vector<std::string>>("finalizers");
    const auto labels = metadata.map("labels");
    return is_of_a_pod && labels.contains(std::string(kShareLabel)) &&
           !metadata.has("deletionTimestamp") && (!finalizers || finalizers->empty()) &&
           !status.has("allocation") && status.list("reservedFor").empty();
  });
  return read.value_or(false);
}

}  // namespace tranche::admission
