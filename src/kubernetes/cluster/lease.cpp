#include "cluster/lease.h"

#include "cluster/fields.h"
#include "cluster/time.h"
#include "cluster/to_json.h"

namespace tranche::cluster {
namespace {

std::optional<Lease::Time> read_time(const Fields& spec, std::string_view key) {
  const auto text = spec.maybe_text(key);
  if (!text) return std::nullopt;
  auto time = parse_time(*text);
  if (time) return *time;
  spec.refuse(key, "is " + time.error().what);
  return std::nullopt;
}

}  // namespace

Result<Lease> parse_lease(std::string_view json) {
  return read_object<Lease>("Lease", json, [](const Fields& top, Lease& lease) {
    const auto metadata = top.object("metadata");
    lease.key = {metadata.text("namespace"), metadata.text("name")};
    lease.uid = metadata.text("uid");
    lease.resource_version = metadata.text("resourceVersion");
    const auto spec = top.object("spec");
    lease.holder = spec.text("holderIdentity");
    lease.duration = std::chrono::seconds(spec.number("leaseDurationSeconds"));
    lease.acquired = read_time(spec, "acquireTime");
    lease.renewed = read_time(spec, "renewTime");
    lease.transitions = static_cast<int>(spec.number("leaseTransitions"));
  });
}

std::string to_json(const Lease& lease) {
  auto json = head_of(kLease, lease.key, lease.uid, lease.resource_version);
  auto& spec = json["spec"];
  spec["holderIdentity"] = lease.holder;
  // The API server refuses a duration of 0.
  if (lease.duration.count() > 0) spec["leaseDurationSeconds"] = lease.duration.count();
  if (lease.acquired) spec["acquireTime"] = micro_time(*lease.acquired);
  if (lease.renewed) spec["renewTime"] = micro_time(*lease.renewed);
  spec["leaseTransitions"] = lease.transitions;
  return json.text();
}

}  // namespace tranche::cluster
