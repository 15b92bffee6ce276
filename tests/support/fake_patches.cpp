#include "support/fake_patches.h"

#include <algorithm>

namespace tranche::test {
namespace {

using nlohmann::json;

// Conditions are merged by type (patchMergeKey) or deleted ($patch), everything else as in a merge
// patch.
json merge_conditions(const json& before, const json& patch) {
  json merged = before;
  for (const auto& wanted : patch) {
    const auto same = std::ranges::find_if(
        merged, [&](const json& known) { return known.at("type") == wanted.at("type"); });
    if (wanted.value("$patch", "") == "delete") {
      if (same != merged.end()) merged.erase(same);
    } else if (same == merged.end()) {
      merged.push_back(wanted);
    } else {
      same->merge_patch(wanted);
    }
  }
  return merged;
}

json strategic(json object, const json& patch) {
  const json::json_pointer conditions("/status/conditions");
  const auto before = object.value(conditions, json::array());
  object.merge_patch(patch);
  if (patch.contains(conditions)) {
    object[conditions] = merge_conditions(before, patch.at(conditions));
  }
  return object;
}

}  // namespace

Result<json> patched(const json& object, const cluster::Patch& patch) try {
  const auto change = json::parse(patch.json);
  switch (patch.type) {
    case cluster::PatchType::kJson:
      return object.patch(change);
    case cluster::PatchType::kStrategic:
      return strategic(object, change);
    case cluster::PatchType::kMerge:
      break;
  }
  json merged = object;
  merged.merge_patch(change);
  return merged;
} catch (const json::exception& error) {
  return fail(Code::kInvalidArgument, error.what());
}

}  // namespace tranche::test
