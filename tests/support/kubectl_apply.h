#pragma once
// What the API server receives when somebody applies a manifest over an existing object: the
// three-way merge of `kubectl apply`, as far as Pods go. Lists of objects with names are merged by
// name, as the strategic merge does with containers, claims and resourceClaims.

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

namespace tranche::test {

inline constexpr const char* kLastApplied = "kubectl.kubernetes.io/last-applied-configuration";

inline bool is_list_by_name(const nlohmann::json& list) {
  return list.is_array() && !list.empty() && std::ranges::all_of(list, [](const auto& one) {
           return one.is_object() && one.contains("name");
         });
}

inline nlohmann::json* named_in(nlohmann::json& list, const nlohmann::json& name) {
  for (auto& one : list) {
    if (one.value("name", nlohmann::json()) == name) return &one;
  }
  return nullptr;
}

// `last`: what was applied before; what it has and `wanted` lacks is taken out of `live`.
inline void merge_three_ways(nlohmann::json& live, nlohmann::json last,
                             const nlohmann::json& wanted) {
  if (is_list_by_name(wanted) && live.is_array()) {
    for (auto& before : last) {
      auto now = wanted;
      if (named_in(now, before["name"]) != nullptr) continue;
      std::erase_if(live.get_ref<nlohmann::json::array_t&>(),
                    [&](const auto& one) { return one["name"] == before["name"]; });
    }
    for (const auto& one : wanted) {
      auto* there = named_in(live, one["name"]);
      auto* before = named_in(last, one["name"]);
      if (there == nullptr) {
        live.push_back(one);
      } else {
        merge_three_ways(*there, before == nullptr ? nlohmann::json() : *before, one);
      }
    }
  } else if (wanted.is_object() && live.is_object()) {
    for (const auto& [key, value] : last.items()) {
      if (!wanted.contains(key)) live.erase(key);
    }
    for (const auto& [key, value] : wanted.items()) {
      if (!live.contains(key)) {
        live[key] = value;
      } else {
        merge_three_ways(live[key], last.is_object() ? last.value(key, nlohmann::json()) : last,
                         value);
      }
    }
  } else {
    live = wanted;
  }
}

inline nlohmann::json with_last_applied(nlohmann::json object, const nlohmann::json& manifest) {
  object["metadata"]["annotations"][kLastApplied] = manifest.dump();
  return object;
}

// The object after `kubectl apply` of the manifest, before admission. An object without the
// annotation of kubectl keeps what was applied before, as it was made with `kubectl create`.
inline nlohmann::json kubectl_applied(nlohmann::json live, const nlohmann::json& manifest) {
  nlohmann::json last;
  const auto annotations = live["metadata"].value("annotations", nlohmann::json::object());
  if (annotations.contains(kLastApplied)) {
    last = nlohmann::json::parse(annotations[kLastApplied].get<std::string>());
  }
  merge_three_ways(live, last, manifest);
  return with_last_applied(std::move(live), manifest);
}

}  // namespace tranche::test
