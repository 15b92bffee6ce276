#include "base/canonical_json.h"

#include <nlohmann/json.hpp>

#include "base/json_value.h"

namespace tranche::json {
namespace {

// nlohmann's reader refuses numbers and strings that no program can hold. Its writer writes numbers
// in the form from which the checksums of existing files were made.
std::optional<std::string> text_of_whole(View value) {
  const auto parsed = nlohmann::json::parse(value.text(), nullptr, false);
  if (parsed.is_discarded()) return std::nullopt;
  return parsed.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::optional<std::string> text_of_list(View list) {
  std::string text = "[";
  for (const auto& element : list.elements()) {
    const auto one = text_of_whole(element);
    if (!one) return std::nullopt;
    if (text.size() > 1) text += ',';
    text += *one;
  }
  return text + ']';
}

}  // namespace

// Takes the lists of the object apart, so that no large tree is made: a value is large by its
// lists.
std::optional<std::string> canonical_text(View value) {
  if (value.kind() != Kind::kObject) return text_of_whole(value);
  std::map<std::string, std::string> members;
  for (const auto& member : value.members()) {
    const bool list = member.value.kind() == Kind::kArray;
    auto text = list ? text_of_list(member.value) : text_of_whole(member.value);
    if (!text) return std::nullopt;
    // If a key occurs twice, the last one counts.
    members.insert_or_assign(member.key, *std::move(text));
  }
  return object_text(members);
}

std::string object_text(const std::map<std::string, std::string>& members) {
  std::string text = "{";
  for (const auto& [key, value] : members) {
    if (text.size() > 1) text += ',';
    text.append(Value(key).text()).append(":").append(value);
  }
  return text + '}';
}

}  // namespace tranche::json
