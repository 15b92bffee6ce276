#include "explain/lint/dra.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/json_value.h"
#include "base/yaml_write.h"
#include "explain/lint/cel.h"

namespace tranche::lint {
namespace {

constexpr std::string_view kGroup = "resource.k8s.io/";
constexpr std::array<std::string_view, 5> kOldVersions = {"v1alpha1", "v1alpha2", "v1alpha3",
                                                          "v1beta1", "v1beta2"};
constexpr std::array<std::string_view, 4> kGoneKinds = {
    "PodSchedulingContext", "PodScheduling", "ResourceClaimParameters", "ResourceClassParameters"};

// Reports an old version, and corrects it to v1.
void check_version(const Place& object) {
  const auto place = object.child("apiVersion");
  const auto version = place->node().scalar.substr(kGroup.size());
  if (version == "v1") return;
  if (std::ranges::find(kOldVersions, version) == kOldVersions.end()) {
    place->error(fmt::format("resource.k8s.io has no version {}", shown(version)),
                 "write resource.k8s.io/v1");
    return;
  }
  place->corrected(
      fmt::format("Kubernetes 1.36 does not serve resource.k8s.io/{} unless told to", version),
      "write resource.k8s.io/v1");
  place->node().scalar = "resource.k8s.io/v1";
}

void check_class(const Place& object, const Surroundings& around) {
  const auto spec = object.map("spec");
  if (!spec) return;
  if (const auto nodes = spec->child("suitableNodes")) {
    nodes->error("resource.k8s.io/v1 has no suitableNodes",
                 "remove it, and select nodes in the Pods that claim");
  }
  spec->check_keys({"selectors", "config", "extendedResourceName", "suitableNodes"});
  check_selectors(*spec, around);
  check_config(*spec, {}, ConfigOf::kClass, around);
}

}  // namespace

bool is_resource_api(std::string_view api_version) { return api_version.starts_with(kGroup); }

void check_selectors(const Place& body, const Surroundings& around) {
  for (const auto& selector : body.list_of_maps("selectors")) {
    selector.check_keys({"cel"});
    const auto cel = selector.map("cel");
    if (!cel) {
      if (selector.node().entries.empty()) selector.error("the selector is empty", "write cel");
      continue;
    }
    cel->check_keys({"expression"});
    const auto expression = cel->child("expression");
    if (!expression) {
      cel->error("expression is missing", "write what a device must be");
      continue;
    }
    if (expression->node().kind != yaml::Kind::kScalar) {
      expression->error("the expression is no text", "write it in quotes");
      continue;
    }
    auto checked = check_cel(expression->node().scalar, around);
    for (auto& one : checked.findings) {
      if (one.corrected) {
        expression->corrected(std::move(one.what), std::move(one.fix));
      } else if (one.certain) {
        expression->error(std::move(one.what), std::move(one.fix));
      } else {
        expression->doubt(std::move(one.what), std::move(one.fix));
      }
    }
    if (checked.expression != expression->node().scalar) {
      expression->set_text(std::move(checked.expression));
    }
  }
}

void check_config(const Place& body, const std::vector<std::string>& requests, ConfigOf owner,
                  const Surroundings& around) {
  for (const auto& config : body.list_of_maps("config")) {
    if (owner == ConfigOf::kClass) {
      config.check_keys({"opaque"});
    } else {
      config.check_keys({"opaque", "requests"});
      check_request_names(config, requests);
    }
    const auto opaque = config.map("opaque");
    if (!opaque) {
      config.error("opaque is missing", "write its driver and parameters");
      continue;
    }
    opaque->check_keys({"driver", "parameters"});
    const auto parameters = opaque->map("parameters");
    if (!parameters || opaque->text("driver") != around.driver || !around.check_parameters)
      continue;
    const auto good = around.check_parameters(yaml::to_json(parameters->node()).text());
    if (!good) parameters->error(good.error().what, good.error().hint);
  }
}

void check_resource_object(const Place& object, const Surroundings& around) {
  const auto kind = object.text("kind");
  if (std::ranges::find(kGoneKinds, kind) != kGoneKinds.end()) {
    object.error(fmt::format("resource.k8s.io/v1 has no kind {}", kind),
                 kind.ends_with("Parameters")
                     ? "write selectors, or config.opaque.parameters, into the claim or its class"
                     : "remove the object: the scheduler needs none");
    return;
  }
  if (kind == "ResourceClass") {
    convert_resource_class(object);
    return;
  }
  const bool is_known = kind == "ResourceClaim" || kind == "ResourceClaimTemplate" ||
                        kind == "DeviceClass" || kind == "ResourceSlice";
  if (!is_known) return;
  check_version(object);
  object.check_keys({"apiVersion", "kind", "metadata", "spec", "status"});
  if (kind == "DeviceClass") {
    check_class(object, around);
    return;
  }
  auto spec = object.map("spec");
  if (!spec) {
    if (!object.child("spec")) object.error("spec is missing", "write it");
    return;
  }
  if (kind == "ResourceSlice") {
    check_slice_spec(*spec);
    return;
  }
  if (kind == "ResourceClaimTemplate") {
    if (!spec->has("spec") && spec->has("devices")) {
      spec->corrected("devices stand in the template's spec", "write them below spec.spec");
      auto inner = map_node();
      inner.entries.push_back({"devices", spec->line(), spec->take("devices")});
      spec->put("spec", std::move(inner));
    }
    spec->check_keys({"metadata", "spec"});
    spec = spec->map("spec");
    if (!spec) {
      object.error("spec.spec is missing", "write what the claim shall ask there");
      return;
    }
  }
  check_claim_spec(*spec, around);
}

}  // namespace tranche::lint
