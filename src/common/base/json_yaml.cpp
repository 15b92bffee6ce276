#include "base/json_yaml.h"

#include "base/json.h"

namespace tranche::json {
namespace {

void write_members(const View& object, std::size_t indent, std::string& text);

// The items of an array, each on lines of its own.
void write_items(const View& array, std::size_t indent, std::string& text) {
  for (const auto& element : array.elements()) {
    text.append(indent, ' ').append("- ");
    if (element.members().empty()) {
      text.append(element.text()).append("\n");
    } else {
      write_members(element, indent + 2, text);
    }
  }
}

// The text after "key:".
void write_value(const View& value, std::size_t indent, std::string& text) {
  if (!value.elements().empty()) {
    text += '\n';
    write_items(value, indent, text);
  } else if (!value.members().empty()) {
    text.append("\n").append(indent + 2, ' ');
    write_members(value, indent + 2, text);
  } else {
    text.append(" ").append(value.text()).append("\n");
  }
}

// One per line; the first continues the line that `text` ends with.
void write_members(const View& object, std::size_t indent, std::string& text) {
  bool is_first = true;
  for (const auto& member : object.members()) {
    if (!is_first) text.append(indent, ' ');
    is_first = false;
    text.append(member.key).append(":");
    write_value(member.value, indent, text);
  }
}

}  // namespace

std::string to_yaml(std::string_view json) {
  const auto root = parse(json);
  if (!root || root->members().empty()) return std::string(json) + '\n';
  std::string text;
  write_members(*root, 0, text);
  return text;
}

}  // namespace tranche::json
