#include "cluster/snapshot/anonymous_json.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/canonical_json.h"
#include "base/json.h"
#include "base/json_value.h"
#include "cluster/snapshot/anonymous_text.h"

namespace tranche::cluster {
namespace {

using Json = json::Value;

std::string text_at(json::View object, std::string_view key) {
  const auto found = object.find(key);
  return found ? found->as_string().value_or("") : "";
}

// Their values are of Kubernetes' vocabulary, or of that of manifests: drivers, classes.
bool stays(std::string_view key) {
  static constexpr std::array<std::string_view, 12> kKeys = {"operator",
                                                             "effect",
                                                             "allocationMode",
                                                             "driver",
                                                             "apiVersion",
                                                             "kind",
                                                             "deviceClassName",
                                                             "matchAttribute",
                                                             "weight",
                                                             "distinctAttribute",
                                                             "tolerationSeconds",
                                                             "count"};
  return std::ranges::find(kKeys, key) != kKeys.end();
}

class JsonWalk {
 public:
  explicit JsonWalk(const Renamer& renamer) : renamer_(renamer) {}

  Json value(std::string_view key, json::View view) const;

 private:
  Json object(json::View view) const;
  Json list(std::string_view key, json::View view) const;
  Json text(std::string_view key, std::string text) const;
  // {"key": ..., "operator": ..., "values": [...]}, and of tolerations {"key": ..., "value": ...}.
  Json requirement(json::View view) const;
  Json labels(json::View view) const;

  const Renamer& renamer_;
};

Json JsonWalk::value(std::string_view key, json::View view) const {
  switch (view.kind()) {
    case json::Kind::kObject:
      return key == "matchLabels" || key == "labels" ? labels(view) : object(view);
    case json::Kind::kArray:
      return list(key, view);
    case json::Kind::kString:
      return text(key, view.as_string().value_or(""));
    default:
      return Json::copy(view);
  }
}

Json JsonWalk::object(json::View view) const {
  if (!text_at(view, "key").empty()) return requirement(view);
  auto result = Json::object();
  for (const auto& member : view.members()) {
    auto key = member.key;
    if (!is_field_name(key)) renamer_.text(key);
    result[key] = value(member.key, member.value);
  }
  return result;
}

Json JsonWalk::list(std::string_view key, json::View view) const {
  auto result = Json::array();
  for (const auto& element : view.elements()) result.push_back(value(key, element));
  return result;
}

Json JsonWalk::text(std::string_view key, std::string text) const {
  if (stays(key)) return text;
  std::string none;
  if (key == "name" || key == "requests") {
    renamer_.request(text);
  } else if (key == "namespaces") {
    renamer_.name(NameKind::kNamespaceName, text);
  } else if (key == "topologyKey") {
    renamer_.label(text, none);
  } else {
    renamer_.text(text);
  }
  return text;
}

Json JsonWalk::requirement(json::View view) const {
  auto result = Json::object();
  const auto name = text_at(view, "key");
  for (const auto& member : view.members()) {
    auto key = name;
    std::string value;
    if (member.key == "key") {
      renamer_.label(key, value);
      result["key"] = key;
    } else if (member.key == "values" || member.key == "value") {
      const auto renamed = [&](json::View one) {
        auto same_key = name;
        value = one.as_string().value_or("");
        renamer_.label(same_key, value);
        return value;
      };
      if (member.value.kind() == json::Kind::kArray) {
        auto values = Json::array();
        for (const auto& one : member.value.elements()) values.push_back(renamed(one));
        result[member.key] = std::move(values);
      } else {
        result[member.key] = renamed(member.value);
      }
    } else {
      result[member.key] = this->value(member.key, member.value);
    }
  }
  return result;
}

Json JsonWalk::labels(json::View view) const {
  StringMap labels;
  for (const auto& member : view.members()) {
    labels.emplace(member.key, member.value.as_string().value_or(""));
  }
  renamer_.labels(labels);
  return labels;
}

}  // namespace

void rename_json(const Renamer& renamer, std::string& json) {
  if (json.empty()) return;
  const auto parsed = json::parse(json);
  const auto renamed = parsed
                           ? JsonWalk(renamer).value("", *parsed).text(json::Value::Order::kSorted)
                           : std::string();
  if (!renamer.learns()) json = renamed;
}

}  // namespace tranche::cluster
