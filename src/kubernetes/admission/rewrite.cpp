#include "admission/rewrite.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "admission/amount.h"
#include "admission/names.h"
#include "admission/patch.h"
#include "admission/plan.h"
#include "admission/pod_parts.h"
#include "base/json_value.h"

namespace tranche::admission {
namespace {

constexpr std::string_view kLastApplied = "kubectl.kubernetes.io/last-applied-configuration";

bool is_one(json::View value) {
  const auto amount = parse_amount(value);
  return amount && *amount == Amount{.whole = 1};
}

// The new limits or requests; nullopt: none are left.
std::optional<json::Value> amounts_after(std::string_view which, json::View now,
                                         const ContainerPlan& plan) {
  const bool asks = plan.state == ContainerPlan::State::kAsks;
  json::Value after = json::Value::object();
  bool is_placed = plan.resource.empty();
  for (const auto& member : distinct_members(now)) {
    const bool is_wanted = !plan.resource.empty() && member.key == plan.resource;
    // In limits, nvidia.com/gpu is the manifest's, whatever we put there.
    const bool may_be_ours =
        member.key != kGpuResource || (which == "requests" && is_one(member.value));
    const bool is_old = plan.old_resources.contains(member.key) && may_be_ours;
    if (is_wanted) {
      after[member.key] = is_one(member.value) ? json::Value::copy(member.value) : "1";
      is_placed = true;
    } else if (!(asks && member.key == kGpuResource) && !is_old) {
      after[member.key] = json::Value::copy(member.value);
    }
  }
  if (!is_placed) after[plan.resource] = "1";
  if (after.empty() && !now.members().empty()) return std::nullopt;
  return after;
}

json::Value claim_of(const ContainerPlan& plan) {
  json::Value claim = json::Value::object();
  claim["name"] = plan.claim;
  if (!plan.request.empty()) claim["request"] = plan.request;
  return claim;
}

// The new resources.claims; nullopt: none are left.
std::optional<json::Value> claims_after(const Container& container, const ContainerPlan& plan) {
  json::Value after = json::Value::array();
  bool is_placed = plan.claim.empty();
  for (const auto& claim : container.claims) {
    if (!plan.claim.empty() && claim.name == plan.claim) {
      if (!is_placed) after.push_back(claim_of(plan));
      is_placed = true;
    } else if (!plan.old_claims.contains(claim.name)) {
      after.push_back(json::Value::copy(claim.view));
    }
  }
  if (!is_placed) after.push_back(claim_of(plan));
  if (after.empty()) return std::nullopt;
  return after;
}

json::Value resources_after(const Container& container, const ContainerPlan& plan) {
  json::Value after = json::Value::object();
  std::map<std::string, std::optional<json::Value>> ours;
  for (const auto* which : {"limits", "requests"}) {
    const auto now = container.resources.find(which).value_or(json::View());
    if (now.kind() == json::Kind::kObject || !plan.resource.empty()) {
      ours.emplace(which, amounts_after(which, now, plan));
    }
  }
  if (!container.claims.empty() || !plan.claim.empty()) {
    ours.emplace("claims", claims_after(container, plan));
  }
  for (const auto& member : distinct_members(container.resources)) {
    const auto found = ours.find(member.key);
    if (found == ours.end()) {
      after[member.key] = json::Value::copy(member.value);
    } else if (found->second) {
      after[member.key] = *found->second;
    }
  }
  for (auto& [key, value] : ours) {
    if (value && !container.resources.find(key)) after[key] = *std::move(value);
  }
  return after;
}

json::Value pod_claim(const std::string& name, const std::string& template_name) {
  json::Value claim = json::Value::object();
  claim["name"] = name;
  claim["resourceClaimTemplateName"] = template_name;
  return claim;
}

class Rewriter {
 public:
  Rewriter(const PodParts& pod, const Plan& plan) : pod_(pod), plan_(plan) {}

  Result<std::string> patch() {
    TRY(record());
    TRY(claims());
    for (std::size_t i = 0; i < pod_.containers.size(); ++i) {
      TRY(container(pod_.containers[i], plan_.containers[i]));
    }
    return operations_.text();
  }

 private:
  Result<void> differ(const std::string& pointer, std::optional<json::View> now,
                      const std::optional<json::Value>& wanted) {
    if (!wanted) {
      add_difference(pointer, now, std::nullopt, operations_);
      return {};
    }
    const auto text = wanted->text();
    ASSIGN_OR_RETURN(const auto view, json::parse(text));
    add_difference(pointer, now, view, operations_);
    return {};
  }

  Result<void> record() {
    const std::string key(kRecordAnnotation);
    const auto found = pod_.annotation.find(key);
    const auto text = plan_.records.empty() ? "" : to_text(plan_.records);
    const bool is_there = found != pod_.annotation.end();
    if (is_there ? !text.empty() && found->second == text : text.empty()) return {};
    auto annotations = json::Value::object();
    for (const auto& member : distinct_members(pod_.annotations)) {
      if (member.key != key) annotations[member.key] = json::Value::copy(member.value);
    }
    if (!text.empty()) annotations[key] = text;
    const auto pointer = pod_.pointer + "/metadata";
    if (pod_.metadata.kind() != json::Kind::kObject) {
      json::Value metadata = json::Value::object();
      metadata["annotations"] = std::move(annotations);
      return differ(pointer, std::nullopt, metadata);
    }
    const auto now = pod_.metadata.find("annotations");
    if (annotations.empty()) return differ(pointer + "/annotations", now, std::nullopt);
    return differ(pointer + "/annotations", now, annotations);
  }

  // The Pod's claims: ours with the right templates, without unused ones.
  Result<void> claims() {
    std::map<std::string, std::string> missing;
    for (const auto& plan : plan_.containers) {
      if (!plan.claim.empty()) missing[plan.claim] = plan.template_name;
    }
    const auto wanted = missing;
    const auto used = used_claims();
    auto after = json::Value::array();
    for (const auto& claim : pod_.claims) {
      const auto found = wanted.find(claim.name);
      missing.erase(claim.name);
      if (found != wanted.end() && claim.template_name != found->second) {
        after.push_back(pod_claim(claim.name, found->second));
      } else if (!plan_.stale.contains(claim.name) || used.contains(claim.name)) {
        after.push_back(json::Value::copy(claim.view));
      }
    }
    for (const auto& plan : plan_.containers) {
      if (missing.erase(plan.claim) != 0) {
        after.push_back(pod_claim(plan.claim, plan.template_name));
      }
    }
    const auto pointer = pod_.pointer + "/spec/resourceClaims";
    if (!after.empty()) return differ(pointer, now_of(pod_.resource_claims), after);
    return pod_.claims.empty() ? Result<void>() : differ(pointer, pod_.resource_claims, {});
  }

  // The claims that containers still use without ours; the user may have given ours to another one.
  std::set<std::string> used_claims() const {
    std::set<std::string> used;
    for (std::size_t i = 0; i < pod_.containers.size(); ++i) {
      for (const auto& claim : pod_.containers[i].claims) {
        if (!plan_.containers[i].old_claims.contains(claim.name)) used.insert(claim.name);
      }
    }
    return used;
  }

  Result<void> container(const Container& container, const ContainerPlan& plan) {
    const bool is_left = plan.claim.empty() && plan.resource.empty() && plan.old_claims.empty() &&
                         plan.old_resources.empty();
    if (is_left) return {};
    return differ(container.pointer + "/resources", now_of(container.resources),
                  resources_after(container, plan));
  }

  static std::optional<json::View> now_of(json::View view) {
    return view.kind() == json::Kind::kNull ? std::nullopt : std::optional(view);
  }

  const PodParts& pod_;
  const Plan& plan_;
  json::Value operations_ = json::Value::array();
};

// What kubectl applied last: an annotation of the object itself, not of its template.
std::string last_applied(std::optional<json::View> object) {
  const auto text = object ? object->at({"metadata", "annotations", kLastApplied}) : std::nullopt;
  return text ? text->as_string().value_or("") : "";
}

// nullopt: missing or unreadable.
std::optional<PodParts> manifest_of(const std::string& text) {
  if (text.empty()) return std::nullopt;
  const auto view = json::parse(text);
  auto parts = view ? read_pod(*view) : std::unexpected(view.error());
  return parts ? std::optional(*std::move(parts)) : std::nullopt;
}

Result<Plan> plan_for(json::View object, const PodParts& pod, const Fleet& fleet,
                      const Options& options) {
  const auto now = last_applied(object);
  const auto before = last_applied(options.before);
  const Manifests manifests{.now = manifest_of(now), .before = manifest_of(before)};
  return make_plan(pod, manifests, fleet, options.claim);
}

}  // namespace

Result<Rewritten> rewrite(json::View object, const Fleet& fleet, const Options& options) {
  const auto deleted = object.at({"metadata", "deletionTimestamp"});
  if (deleted && deleted->kind() != json::Kind::kNull) return Rewritten{.patch = "[]"};
  ASSIGN_OR_RETURN(const auto pod, read_pod(object));
  ASSIGN_OR_RETURN(auto plan, plan_for(object, pod, fleet, options));
  ASSIGN_OR_RETURN(auto patch, Rewriter(pod, plan).patch());
  return Rewritten{.patch = std::move(patch),
                   .templates = std::move(plan.templates),
                   .warnings = std::move(plan.warnings)};
}

}  // namespace tranche::admission
