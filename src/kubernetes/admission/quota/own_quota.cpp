#include "admission/quota/own_quota.h"

#include <fmt/format.h>

#include "admission/quota/charge.h"
#include "admission/quota/reserve.h"
#include "base/json_fields.h"
#include "base/json_value.h"

namespace tranche::admission::quota {
namespace {

using json::Fields;

// Rounded down: only whole GPUs are counted against it.
std::string left_text(const Ledger& ledger, const std::vector<Limit>& limits) {
  return std::to_string(left_for_whole(ledger, limits).value_or(0) / kWhole);
}

void fill(json::Value& object, const Ledger& ledger, const std::vector<Limit>& limits) {
  auto& annotations = object["metadata"]["annotations"];
  annotations[kLedgerAnnotation] = to_text(ledger);
  annotations[kHeldAnnotation] = gpus_text(ledger.billionths());
  auto hard = json::Value::object();
  hard[kQuotaResource] = left_text(ledger, limits);
  object["spec"]["hard"] = std::move(hard);
}

}  // namespace

Result<OwnQuota> read_own_quota(json::View object) {
  const auto labels = object.at({"metadata", "labels"});
  if (!labels || !labels->find(kOwnQuotaLabel)) {
    return fail(Code::kFailedPrecondition,
                fmt::format("ResourceQuota {} is not one of Tranche's, and its name is needed to "
                            "count shares of GPUs",
                            kOwnQuotaName),
                fmt::format("delete it: kubectl delete resourcequota {}", kOwnQuotaName));
  }
  return json::read_fields(object, [](const Fields& top) {
    const auto status = top.object("status");
    const auto annotations = top.object("metadata").map("annotations");
    auto ledger = parse_ledger(cluster::value_of(annotations, std::string(kLedgerAnnotation)));
    return OwnQuota{
        .ledger = ledger ? std::optional(*std::move(ledger)) : std::nullopt,
        .wanted = amount_of(top.object("spec").object("hard"), Rounding::kUp).value_or(0),
        .hard = amount_of(status.object("hard"), Rounding::kUp),
        .used = amount_of(status.object("used"), Rounding::kUp).value_or(0),
    };
  });
}

std::string new_own_quota(const Ledger& ledger, const std::vector<Limit>& limits,
                          const cluster::OwnerReference& owner) {
  json::Value object = json::Value::object();
  object["apiVersion"] = "v1";
  object["kind"] = "ResourceQuota";
  auto& metadata = object["metadata"];
  metadata["name"] = kOwnQuotaName;
  metadata["labels"][kOwnQuotaLabel] = "true";
  metadata["ownerReferences"].push_back(json::Value{{"apiVersion", owner.api_version},
                                                    {"kind", owner.kind},
                                                    {"name", owner.name},
                                                    {"uid", owner.uid}});
  fill(object, ledger, limits);
  return object.text();
}

std::string changed_own_quota(json::View object, const Ledger& ledger,
                              const std::vector<Limit>& limits) {
  auto changed = json::Value::copy(object);
  fill(changed, ledger, limits);
  return changed.text();
}

std::string with_status_as_wanted(json::View object) {
  auto changed = json::Value::copy(object);
  const auto wanted = object.at({"spec", "hard"});
  changed["status"]["hard"] = wanted ? json::Value::copy(*wanted) : json::Value::object();
  return changed.text();
}

}  // namespace tranche::admission::quota
