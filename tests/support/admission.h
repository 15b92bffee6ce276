#pragma once
// Objects and fleets for the tests of admission/rewrite.h, and the API server's handling of a
// rewrite.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "admission/rewrite.h"

namespace tranche::test {

inline admission::Fleet dra_fleet() {
  return {
      .dra_models = {{"NVIDIA L20", Bytes::from_mib(46068)}, {"Tesla T4", Bytes::from_mib(15360)}},
      .replicas = {}};
}

inline admission::Fleet replica_fleet() {
  return {.dra_models = {},
          .replicas = {{"nvidia.com/gpu.shared", 500, true}, {"nvidia.com/gpu.small", 250, true}}};
}

// Replicas under the name of whole GPUs: each nvidia.com/gpu is half of one.
inline admission::Fleet whole_name_fleet() {
  return {.dra_models = {}, .replicas = {{"nvidia.com/gpu", 500, true}}};
}

inline nlohmann::json container(const std::string& name, const nlohmann::json& gpu) {
  return {{"name", name}, {"resources", {{"limits", {{"nvidia.com/gpu", gpu}}}}}};
}

inline nlohmann::json pod(std::vector<nlohmann::json> containers) {
  return {{"apiVersion", "v1"},
          {"kind", "Pod"},
          {"metadata", {{"name", "one"}}},
          {"spec", {{"containers", std::move(containers)}}}};
}

// A workload around the metadata and spec of a Pod.
inline nlohmann::json deployment(const nlohmann::json& pod) {
  return {{"apiVersion", "apps/v1"},
          {"kind", "Deployment"},
          {"metadata", {{"name", "one"}}},
          {"spec", {{"template", {{"metadata", pod["metadata"]}, {"spec", pod["spec"]}}}}}};
}

// `before`: the object before an update.
inline Result<admission::Rewritten> rewritten(const nlohmann::json& object,
                                              const admission::Fleet& fleet,
                                              const nlohmann::json& before = {}) {
  const auto text = object.dump();
  const auto text_before = before.dump();
  return admission::rewrite(*json::parse(text), fleet, {.before = *json::parse(text_before)});
}

// The object as the API server stores it, or the refusal.
inline nlohmann::json admitted(const nlohmann::json& object, const admission::Fleet& fleet,
                               const nlohmann::json& before = {}) {
  const auto result = rewritten(object, fleet, before);
  if (!result) return result.error().message();
  return object.patch(nlohmann::json::parse(result->patch));
}

}  // namespace tranche::test
