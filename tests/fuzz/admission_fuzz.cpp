// Arbitrary JSON as an object that asks for fractions of GPUs, on fleets of each kind. A patch must
// apply, and its result must need no other. A refusal must have a reason. A name that is read as
// one of our templates must be the one that its shares have.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "admission/amount.h"
#include "admission/record.h"
#include "admission/rewrite.h"
#include "admission/template_name.h"

namespace {

using namespace tranche;

void require(bool holds) {
  if (!holds) std::abort();
}

const std::vector<admission::Fleet>& fleets() {
  static const std::vector<admission::Fleet> kFleets = {
      {.dra_models = {{"NVIDIA L20", Bytes::from_mib(46068)}, {"x' || '", Bytes::from_mib(100)}},
       .replicas = {}},
      {.dra_models = {},
       .replicas = {{"nvidia.com/gpu.shared", 500, true}, {"nvidia.com/gpu", 250, false}}},
      {.dra_models = {{"A", Bytes::from_mib(15360)}},
       .replicas = {{"nvidia.com/gpu.shared", 990, true}}},
      {},
  };
  return kFleets;
}

void check(json::View object, const nlohmann::json& parsed, const admission::Fleet& fleet,
           const std::optional<json::View>& before) {
  const auto result = admission::rewrite(object, fleet, {.before = before});
  if (!result) {
    require(!result.error().what.empty());
    return;
  }
  for (const auto& one : result->templates) {
    require(nlohmann::json::accept(one.json));
    require(admission::parse_template_name(one.name).has_value());
  }
  const auto text = parsed.patch(nlohmann::json::parse(result->patch)).dump();
  const auto changed = json::parse(text);
  require(changed.has_value());
  const auto again = admission::rewrite(*changed, fleet, {});
  require(again && again->patch == "[]" && again->templates == result->templates);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto shares = admission::parse_template_name(text)) {
    require(admission::template_name(*shares) == text);
  }
  if (const auto amount = admission::parse_amount(text)) {
    require(admission::parse_amount(admission::to_string(*amount)) == amount);
  }
  if (const auto records = admission::parse_records(text)) {
    require(admission::parse_records(admission::to_text(*records)) == records);
  }
  const auto object = json::parse_strict(text);
  if (!object) return 0;
  const auto parsed = nlohmann::json::parse(text, nullptr, false);
  if (parsed.is_discarded()) return 0;
  for (const auto& fleet : fleets()) {
    check(*object, parsed, fleet, std::nullopt);
    // {"object": ..., "before": ...}: an update.
    const auto after = object->find("object");
    if (after) check(*after, parsed["object"], fleet, object->find("before"));
  }
  return 0;
}
