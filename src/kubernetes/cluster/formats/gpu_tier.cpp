#include "cluster/formats/gpu_tier.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <set>
#include <span>

#include "cluster/fields.h"
#include "cluster/to_json.h"

namespace tranche::cluster {
namespace {

// In the order of TierMechanism's alternatives.
constexpr auto kMechanisms =
    std::to_array<std::string_view>({"exclusive", "mig", "timeSlicing", "mps", "topologyAligned"});
constexpr std::int64_t kMostMpsClients = 48;  // NVIDIA MPS, client limit of Volta and later

template <class... Ts>
struct Overloaded : Ts... {
  using Ts::operator()...;
};

void allow_only(const Fields& fields, std::initializer_list<std::string_view> known) {
  for (const auto& member : fields.view().members()) {
    if (std::ranges::find(known, member.key) != known.end()) continue;
    fields.refuse(member.key, fmt::format("is no field that this release knows; known are {}",
                                          fmt::join(known, ", ")));
  }
}

std::int64_t read_replicas(const Fields& fields) {
  allow_only(fields, {"replicas"});
  return fields.number("replicas");
}

TierMechanism read_mechanism(const Fields& spec) {
  const auto fields = spec.object("mechanism");
  const auto members = fields.view().members();
  if (members.size() != 1) {
    spec.refuse("mechanism", fmt::format("has {} entries where exactly one of {} is expected",
                                         members.size(), fmt::join(kMechanisms, ", ")));
    return {};
  }
  const auto& key = members.front().key;
  const auto body = fields.object(key);
  if (key == "mig") {
    allow_only(body, {"profile"});
    return MigTier{body.text("profile")};
  }
  if (key == "timeSlicing") return TimeSlicingTier{read_replicas(body)};
  if (key == "mps") return MpsTier{read_replicas(body)};
  if (key == "exclusive" || key == "topologyAligned") {
    allow_only(body, {});
    return key == "exclusive" ? TierMechanism(ExclusiveTier()) : TopologyAlignedTier();
  }
  fields.refuse(key, fmt::format("is none of {}", fmt::join(kMechanisms, ", ")));
  return {};
}

std::vector<TierQuota> read_quotas(const Fields& spec) {
  std::vector<TierQuota> quotas;
  for (const auto& rule : spec.list("quotas")) {
    allow_only(rule, {"namespace", "limit"});
    if (!rule.view().find("limit")) rule.refuse("limit", "is missing");
    quotas.push_back({rule.maybe_text("namespace"), rule.number("limit")});
  }
  return quotas;
}

void read_spec(const Fields& spec, GpuTier& tier) {
  allow_only(spec, {"eligibility", "mechanism", "resource", "isolation", "namespaces", "quotas",
                    "priorityClass", "support", "maxWaitSeconds"});
  const auto eligibility = spec.object("eligibility");
  allow_only(eligibility, {"nodeSelector", "models"});
  tier.eligibility = {read_selector(eligibility, "nodeSelector"),
                      read_texts(eligibility, "models")};
  tier.mechanism = read_mechanism(spec);
  tier.resource = spec.maybe_text("resource");
  tier.isolation = spec.text("isolation");
  const auto namespaces = spec.object("namespaces");
  allow_only(namespaces, {"names", "selector"});
  tier.namespaces = {read_texts(namespaces, "names"), read_selector(namespaces, "selector")};
  tier.quotas = read_quotas(spec);
  tier.priority_class = spec.text("priorityClass");
  tier.support = spec.text("support");
  tier.max_wait_seconds = spec.number("maxWaitSeconds");
}

std::vector<TierCondition> read_conditions(const Fields& status) {
  std::vector<TierCondition> conditions;
  for (const auto& item : status.list("conditions")) {
    conditions.push_back({item.text("type"), item.text("status"), item.text("reason"),
                          item.text("message"), item.text("lastTransitionTime"),
                          item.number("observedGeneration")});
  }
  return conditions;
}

json::Value json_of(const LabelSelector& selector) { return json::Value::raw(to_json(selector)); }

json::Value json_of(const TierMechanism& mechanism) {
  auto body = std::visit(
      Overloaded{[](const MigTier& mig) { return json::Value{{"profile", mig.profile}}; },
                 [](const TimeSlicingTier& sharing) {
                   return json::Value{{"replicas", sharing.replicas}};
                 },
                 [](const MpsTier& sharing) { return json::Value{{"replicas", sharing.replicas}}; },
                 [](const auto&) { return json::Value::object(); }},
      mechanism);
  return {{std::string(to_string(mechanism)), std::move(body)}};
}

json::Value json_of(const TierQuota& rule) {
  auto json = json::Value::object();
  if (rule.ns) json["namespace"] = *rule.ns;
  json["limit"] = rule.limit;
  return json;
}

json::Value spec_of(const GpuTier& tier) {
  auto spec = json::Value::object();
  auto eligibility = json::Value::object();
  if (tier.eligibility.node_selector) {
    eligibility["nodeSelector"] = json_of(*tier.eligibility.node_selector);
  }
  if (!tier.eligibility.models.empty()) eligibility["models"] = tier.eligibility.models;
  if (!eligibility.empty()) spec["eligibility"] = std::move(eligibility);
  spec["mechanism"] = json_of(tier.mechanism);
  if (tier.resource) spec["resource"] = *tier.resource;
  spec["isolation"] = tier.isolation;
  auto namespaces = json::Value::object();
  if (!tier.namespaces.names.empty()) namespaces["names"] = tier.namespaces.names;
  if (tier.namespaces.selector) namespaces["selector"] = json_of(*tier.namespaces.selector);
  if (!namespaces.empty()) spec["namespaces"] = std::move(namespaces);
  for (const auto& rule : tier.quotas) spec["quotas"].push_back(json_of(rule));
  if (!tier.priority_class.empty()) spec["priorityClass"] = tier.priority_class;
  spec["support"] = tier.support;
  if (tier.max_wait_seconds != 0) spec["maxWaitSeconds"] = tier.max_wait_seconds;
  return spec;
}

json::Value json_of(const TierCondition& condition) {
  json::Value json = {{"type", condition.type},
                      {"status", condition.status},
                      {"reason", condition.reason},
                      {"message", condition.message}};
  if (!condition.last_transition.empty()) json["lastTransitionTime"] = condition.last_transition;
  if (condition.observed_generation != 0) {
    json["observedGeneration"] = condition.observed_generation;
  }
  return json;
}

// ---- validate

bool take_number(std::string_view& text) {
  const auto end = std::min(text.find_first_not_of("0123456789"), text.size());
  const bool number = end > 0 && text.front() != '0';
  text.remove_prefix(end);
  return number;
}

bool take(std::string_view& text, std::string_view part) {
  if (!text.starts_with(part)) return false;
  text.remove_prefix(part.size());
  return true;
}

// "1g.10gb", with at most one attribute: "+me", "+me.all", "-me", "+gfx". A tier allocates whole
// GPU instances: no "1c." prefix.
bool is_profile(std::string_view text) {
  if (!take_number(text) || !take(text, "g.") || !take_number(text) || !take(text, "gb")) {
    return false;
  }
  return text.empty() || text == "+me" || text == "+me.all" || text == "-me" || text == "+gfx";
}

bool is_blank(std::string_view text) {
  return text.find_first_not_of(" \t\r\n") == std::string_view::npos;
}

using Problems = std::vector<std::string>;

void check_mechanism(const GpuTier& tier, Problems& problems) {
  const auto few = [&](std::int64_t replicas) {
    if (replicas >= 2) return;
    problems.push_back(fmt::format(
        "spec.mechanism.{}.replicas is {}; a shared GPU has 2 at least (one to itself: exclusive)",
        to_string(tier.mechanism), replicas));
  };
  if (const auto* mig = std::get_if<MigTier>(&tier.mechanism); mig && !is_profile(mig->profile)) {
    problems.push_back(fmt::format(
        "spec.mechanism.mig.profile is \"{}\", no MIG profile such as 1g.10gb", mig->profile));
  }
  if (const auto* slicing = std::get_if<TimeSlicingTier>(&tier.mechanism)) few(slicing->replicas);
  if (const auto* mps = std::get_if<MpsTier>(&tier.mechanism)) {
    few(mps->replicas);
    if (mps->replicas > kMostMpsClients) {
      problems.push_back(fmt::format("spec.mechanism.mps.replicas is {}; MPS serves {} at most",
                                     mps->replicas, kMostMpsClients));
    }
  }
}

void check_names(std::span<const std::string> names, std::string_view path, Problems& problems) {
  std::set<std::string_view> seen;
  for (const auto& name : names) {
    if (is_blank(name)) problems.push_back(fmt::format("{} has an empty entry", path));
    if (!seen.insert(name).second) problems.push_back(fmt::format("{} has {} twice", path, name));
  }
}

void check_quotas(const GpuTier& tier, Problems& problems) {
  std::set<std::optional<std::string>> seen;
  for (std::size_t i = 0; i < tier.quotas.size(); ++i) {
    const auto& rule = tier.quotas[i];
    const auto at = fmt::format("spec.quotas[{}]", i);
    if (rule.limit < 0) problems.push_back(fmt::format("{}.limit is {}", at, rule.limit));
    if (!seen.insert(rule.ns).second) {
      problems.push_back(rule.ns ? fmt::format("{} is a second rule for namespace {}", at, *rule.ns)
                                 : fmt::format("{} is a second rule without a namespace", at));
    }
    const auto& names = tier.namespaces.names;
    if (rule.ns && !tier.namespaces.selector && std::ranges::find(names, *rule.ns) == names.end()) {
      problems.push_back(
          fmt::format("{}.namespace is {}, which spec.namespaces does not allow", at, *rule.ns));
    }
  }
}

void check_resource(const GpuTier& tier, Problems& problems) {
  if (!tier.resource) return;
  const auto slash = tier.resource->find('/');
  if (slash != std::string::npos && slash != 0 && slash + 1 != tier.resource->size()) return;
  problems.push_back(fmt::format(
      "spec.resource is \"{}\", no extended resource such as nvidia.com/gpu", *tier.resource));
}

}  // namespace

std::string_view to_string(const TierMechanism& mechanism) {
  return kMechanisms.at(mechanism.index());
}

Result<GpuTier> parse_gpu_tier(std::string_view json) {
  return read_object<GpuTier>("GPUTier", json, [](const Fields& top, GpuTier& tier) {
    const auto metadata = top.object("metadata");
    tier.name = metadata.text("name");
    tier.uid = metadata.text("uid");
    tier.resource_version = metadata.text("resourceVersion");
    tier.generation = metadata.number("generation");
    read_spec(top.object("spec"), tier);
    tier.conditions = read_conditions(top.object("status"));
  });
}

std::string to_json(const GpuTier& tier) {
  auto json = head_of(kGpuTier, {"", tier.name}, tier.uid, tier.resource_version);
  if (tier.generation != 0) json["metadata"]["generation"] = tier.generation;
  json["spec"] = spec_of(tier);
  for (const auto& condition : tier.conditions) {
    json["status"]["conditions"].push_back(json_of(condition));
  }
  return json.text();
}

std::vector<std::string> validate(const GpuTier& tier) {
  Problems problems;
  const auto selector = [&](const std::optional<LabelSelector>& value, std::string_view path) {
    if (!value) return;
    std::ranges::copy(problems_of(*value, path), std::back_inserter(problems));
  };
  selector(tier.eligibility.node_selector, "spec.eligibility.nodeSelector");
  check_names(tier.eligibility.models, "spec.eligibility.models", problems);
  check_mechanism(tier, problems);
  check_resource(tier, problems);
  if (is_blank(tier.isolation)) {
    problems.emplace_back("spec.isolation is empty; say what separates users of the same GPU");
  }
  check_names(tier.namespaces.names, "spec.namespaces.names", problems);
  selector(tier.namespaces.selector, "spec.namespaces.selector");
  check_quotas(tier, problems);
  if (is_blank(tier.support)) {
    problems.emplace_back("spec.support is empty; say what users may expect of support");
  }
  if (tier.max_wait_seconds < 0) {
    problems.emplace_back("spec.maxWaitSeconds is negative; leave it out where nothing is said");
  }
  return problems;
}

std::string resource_of(const GpuTier& tier) {
  if (tier.resource) return *tier.resource;
  return std::visit(
      Overloaded{[](const MigTier& mig) {
                   // As NVIDIA's plugin names it: '+' is not allowed in a resource name.
                   auto name = "nvidia.com/mig-" + mig.profile;
                   std::ranges::replace(name, '+', '.');
                   return name;
                 },
                 [](const TimeSlicingTier&) { return std::string("nvidia.com/gpu.shared"); },
                 [](const MpsTier&) { return std::string("nvidia.com/gpu.shared"); },
                 [](const auto&) { return std::string("nvidia.com/gpu"); }},
      tier.mechanism);
}

bool allows(const GpuTier& tier, const std::string& ns, const StringMap& labels) {
  const auto& names = tier.namespaces.names;
  if (std::ranges::find(names, ns) != names.end()) return true;
  return tier.namespaces.selector && selects(*tier.namespaces.selector, labels);
}

std::optional<std::int64_t> limit_of(const GpuTier& tier, const std::string& ns) {
  std::optional<std::int64_t> others;
  for (const auto& rule : tier.quotas) {
    if (rule.ns == ns) return rule.limit;
    if (!rule.ns) others = rule.limit;
  }
  return others;
}

}  // namespace tranche::cluster
