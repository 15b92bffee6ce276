// Random Pods and workloads, on random fleets: properties of every rewrite.

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <set>

#include "admission/rewrite.h"
#include "admission/template_name.h"
#include "support/admission.h"
#include "support/kubectl_apply.h"

namespace tranche::admission::rewrite_properties_test {
namespace {

using namespace test;
using nlohmann::json;

json drawn_amount() {
  const int hundredths = *rc::gen::inRange(1, 100);
  switch (*rc::gen::inRange(0, 5)) {
    case 0:
      return std::to_string(hundredths * 10) + "m";
    case 1:
      return hundredths / 100.0;
    case 2:
      return std::to_string(hundredths) + "e-2";
    case 3:
      return *rc::gen::inRange(0, 3);
    default:
      return *rc::gen::element<json>(0.5, "0.25", 0.1);
  }
}

json drawn_container(const std::string& name) {
  json one = {{"name", name}};
  if (*rc::gen::inRange(0, 4) == 0) return one;
  auto& resources = one["resources"];
  resources = json::object();
  if (*rc::gen::arbitrary<bool>()) resources["limits"]["cpu"] = "1";
  if (*rc::gen::inRange(0, 4) != 0) {
    resources["limits"]["nvidia.com/gpu"] = drawn_amount();
    if (*rc::gen::arbitrary<bool>()) resources["requests"] = resources["limits"];
  }
  if (*rc::gen::inRange(0, 4) == 0) resources["claims"] = {{{"name", "mine"}}};
  return one;
}

json drawn_pod() {
  const std::vector<std::string> names = {"a", "b", "main", std::string(63, 'x'),
                                          std::string(62, 'x') + "y"};
  auto object = pod({});
  auto& spec = object["spec"];
  spec["containers"] = json::array();
  for (const auto& name : names) {
    const int where = *rc::gen::inRange(0, 4);
    if (where == 0) spec["initContainers"].push_back(drawn_container(name));
    if (where > 1) spec["containers"].push_back(drawn_container(name));
  }
  if (*rc::gen::arbitrary<bool>()) {
    spec["resourceClaims"] = {{{"name", "mine"}, {"resourceClaimTemplateName", "half-gpu"}},
                              {{"name", "tranche-gpu-a"}, {"resourceClaimName", "x"}}};
  }
  auto& metadata = object["metadata"];
  if (*rc::gen::inRange(0, 3) == 0) metadata["annotations"]["other"] = "text";
  if (*rc::gen::inRange(0, 4) == 0) metadata["annotations"]["tranche.dev/gpu-together"] = "true";
  if (*rc::gen::inRange(0, 4) == 0) {
    metadata["annotations"]["tranche.dev/gpu-memory"] = "2Gi";
    metadata["annotations"]["tranche.dev/gpu-compute"] = "30";
  }
  return object;
}

json drawn_object() {
  auto object = drawn_pod();
  return *rc::gen::arbitrary<bool>() ? object : deployment(object);
}

Fleet drawn_fleet() { return *rc::gen::element(dra_fleet(), replica_fleet(), whole_name_fleet()); }

void same(const json& one, const json& other) {
  const bool are_same = one == other;
  if (!are_same) RC_LOG() << one.dump() << "\n" << other.dump() << "\n";
  RC_ASSERT(are_same);
}

json& pod_of(json& object) { return object["kind"] == "Pod" ? object : object["spec"]["template"]; }

// The object after a rewrite; drawn again if refused.
json rewritten_once(const json& object, const Fleet& fleet, const json& before = {}) {
  const auto after = admitted(object, fleet, before);
  RC_PRE(after.is_object());
  return after;
}

RC_GTEST_PROP(RewriteProperties, TheSecondRewriteChangesNothing, ()) {
  const auto fleet = drawn_fleet();
  const auto after = rewritten_once(drawn_object(), fleet);
  const auto again = rewritten(after, fleet);
  RC_ASSERT(again.has_value());
  RC_ASSERT(again->patch == "[]");
}

RC_GTEST_PROP(RewriteProperties, AppliedAgainItIsTheSame, ()) {
  const auto fleet = drawn_fleet();
  const auto manifest = drawn_object();
  const auto live = rewritten_once(with_last_applied(manifest, manifest), fleet);
  same(admitted(kubectl_applied(live, manifest), fleet, live), live);
}

// Containers of the same names with new shares each time, in limits only, as people write them.
// `is_kept`: with an annotation of its own, so that kubectl never removes them all with ours.
json drawn_deployment(bool is_kept) {
  std::vector<json> containers;
  for (const auto* name : {"a", "b", "c"}) {
    json one = {{"name", name}};
    if (*rc::gen::arbitrary<bool>()) one["resources"]["limits"]["cpu"] = "1";
    if (*rc::gen::inRange(0, 3) != 0) one["resources"]["limits"]["nvidia.com/gpu"] = drawn_amount();
    containers.push_back(std::move(one));
  }
  auto object = pod(std::move(containers));
  if (is_kept || *rc::gen::arbitrary<bool>()) object["metadata"]["annotations"]["other"] = "text";
  if (*rc::gen::inRange(0, 3) == 0) {
    object["metadata"]["annotations"]["tranche.dev/gpu-together"] = "true";
  }
  return deployment(object);
}

// The template's spec without the order of claims, which depends on earlier rewrites, and without
// what means nothing to Kubernetes: empty mappings, and requests equal to limits.
json essence(json object) {
  auto spec = pod_of(object)["spec"];
  if (spec.contains("resourceClaims")) {
    std::ranges::sort(spec["resourceClaims"].get_ref<json::array_t&>());
  }
  for (auto& one : spec["containers"]) {
    auto resources = one.value("resources", json::object());
    resources.erase("requests");
    if (resources.value("limits", json()).empty()) resources.erase("limits");
    one["resources"] = resources;
  }
  return spec;
}

RC_GTEST_PROP(RewriteProperties, AnotherManifestGivesWhatItWouldHaveGivenAtOnce, ()) {
  const auto fleet = drawn_fleet();
  // Without our record, claims are recognized by their form, replicas are not.
  const bool is_kept = fleet.dra_models.empty();
  const auto before = drawn_deployment(is_kept);
  const auto after = drawn_deployment(is_kept);
  const auto live = rewritten_once(with_last_applied(before, before), fleet);
  const auto fresh = rewritten_once(with_last_applied(after, after), fleet);
  const auto changed = rewritten_once(kubectl_applied(live, after), fleet, live);
  same(essence(changed), essence(fresh));
}

RC_GTEST_PROP(RewriteProperties, NoFractionIsLeftAndTheUsersClaimsAre, ()) {
  const auto fleet = drawn_fleet();
  auto object = drawn_object();
  auto after = rewritten_once(object, fleet);
  auto& spec = pod_of(after)["spec"];
  std::set<std::string> names;
  for (const auto& claim : spec.value("resourceClaims", json::array())) {
    RC_ASSERT(names.insert(claim["name"].get<std::string>()).second);
    RC_ASSERT(claim["name"].get<std::string>().size() <= 63U);
  }
  for (const auto& claim : pod_of(object)["spec"].value("resourceClaims", json::array())) {
    const auto kept = spec["resourceClaims"];
    RC_ASSERT(std::ranges::find(kept, claim) != kept.end());
  }
  for (const auto* list : {"initContainers", "containers"}) {
    for (const auto& one : spec.value(list, json::array())) {
      const auto resources = one.value("resources", json::object());
      for (const auto& claim : resources.value("claims", json::array())) {
        const bool is_there =
            names.contains(claim["name"].get<std::string>()) || claim["name"] == "mine";
        RC_ASSERT(is_there);
      }
      for (const auto* which : {"limits", "requests"}) {
        const auto amounts = resources.value(which, json::object());
        if (!amounts.contains("nvidia.com/gpu")) continue;
        const auto& value = amounts["nvidia.com/gpu"];
        const bool is_whole = value.is_number_integer() || value == "1";
        RC_ASSERT(is_whole);
      }
    }
  }
}

RC_GTEST_PROP(RewriteProperties, EveryClaimOfOursHasItsTemplate, ()) {
  const auto object = drawn_object();
  const auto result = rewritten(object, dra_fleet());
  RC_PRE(result.has_value());
  auto after = object.patch(json::parse(result->patch));
  std::set<std::string> needed;
  for (const auto& claim : pod_of(after)["spec"].value("resourceClaims", json::array())) {
    const auto name = claim.value("resourceClaimTemplateName", "");
    if (parse_template_name(name)) needed.insert(name);
  }
  std::set<std::string> given;
  for (const auto& one : result->templates) given.insert(one.name);
  RC_ASSERT(needed == given);
}

}  // namespace
}  // namespace tranche::admission::rewrite_properties_test
