#include "base/yaml_write.h"

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "base/json.h"

namespace tranche::yaml {
namespace {

bool is_printable(char c) { return static_cast<unsigned char>(c) >= ' ' && c != '\x7f'; }

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

// A key that needs no quotes in any reader.
bool is_plain_key(std::string_view key) {
  constexpr std::string_view kOthers = "0123456789_-./";
  if (key.empty() || !is_letter(key.front())) return false;
  const bool plain = std::ranges::all_of(
      key, [&](char c) { return is_letter(c) || kOthers.find(c) != std::string_view::npos; });
  if (!plain || key == "null" || key == "Null" || key == "NULL") return false;
  return is_text({.kind = Kind::kScalar, .scalar = std::string(key)});
}

std::string in_quotes(std::string_view text) { return json::Value(text).text(); }

// Text that reads back as it is when it is written as a block.
bool is_block(const Node& node) {
  const auto& text = node.scalar;
  if (text.find('\n') >= text.size() - 1 || text.ends_with("\n\n")) return false;
  // The indent of a block is that of its first line, and other lines may not end in space.
  if (text.front() == ' ' || text.front() == '\n') return false;
  if (text.find(" \n") != std::string::npos || text.ends_with(' ')) return false;
  return std::ranges::all_of(text, [](char c) { return c == '\n' || is_printable(c); });
}

std::string block_of(std::string_view text, std::size_t indent) {
  std::string out = text.ends_with('\n') ? "|" : "|-";
  if (text.ends_with('\n')) text.remove_suffix(1);
  while (true) {
    const auto end = std::min(text.find('\n'), text.size());
    out += '\n';
    if (end > 0) out.append(indent, ' ').append(text.substr(0, end));
    if (end == text.size()) return out;
    text.remove_prefix(end + 1);
  }
}

std::string scalar_of(const Node& node, std::size_t indent) {
  if (node.kind == Kind::kNull) return "null";
  if (is_block(node)) return block_of(node.scalar, indent);
  if (node.quoted || !std::ranges::all_of(node.scalar, is_printable)) return in_quotes(node.scalar);
  return node.scalar;
}

bool is_inline(const Node& node) { return node.items.empty() && node.entries.empty(); }

std::string inline_of(const Node& node, std::size_t indent) {
  if (node.kind == Kind::kMap) return "{}";
  return node.kind == Kind::kSequence ? "[]" : scalar_of(node, indent);
}

// Writes the lines of a non-empty map or list. The first one continues where `out` ends.
void write_lines(const Node& node, std::size_t indent, std::string& out) {
  bool is_first = true;
  const auto begin = [&] {
    if (!is_first) out.append(indent, ' ');
    is_first = false;
  };
  for (const auto& item : node.items) {
    begin();
    out += "- ";
    if (is_inline(item)) {
      out += inline_of(item, indent + 2) + '\n';
    } else {
      write_lines(item, indent + 2, out);
    }
  }
  for (const auto& [key, line, value] : node.entries) {
    begin();
    out += (is_plain_key(key) ? key : in_quotes(key)) + ':';
    const bool is_list = value.kind == Kind::kSequence;
    if (is_inline(value)) {
      out += ' ' + inline_of(value, indent + 2) + '\n';
    } else {
      const std::size_t inner = is_list ? indent : indent + 2;
      out.append("\n").append(inner, ' ');
      write_lines(value, inner, out);
    }
  }
}

bool is_json_number(std::string_view text) {
  const auto view = json::parse(text);
  return view && view->kind() == json::Kind::kNumber;
}

json::Value json_of_scalar(const Node& node) {
  if (is_text(node)) return node.scalar;
  if (const auto truth = as_bool(node)) return *truth;
  if (is_json_number(node.scalar)) return json::Value::raw(node.scalar);
  if (const auto whole = as_int(node)) return *whole;
  return node.scalar;  // .5, .inf: no number in JSON
}

}  // namespace

std::string write(const Node& node) {
  if (is_inline(node)) return inline_of(node, 2) + '\n';
  std::string out;
  write_lines(node, 0, out);
  return out;
}

json::Value to_json(const Node& node) {
  switch (node.kind) {
    case Kind::kNull:
      return nullptr;
    case Kind::kScalar:
      return json_of_scalar(node);
    case Kind::kSequence: {
      auto list = json::Value::array();
      for (const auto& item : node.items) list.push_back(to_json(item));
      return list;
    }
    case Kind::kMap:
      break;
  }
  auto object = json::Value::object();
  for (const auto& entry : node.entries) object[entry.key] = to_json(entry.value);
  return object;
}

}  // namespace tranche::yaml
