#include "sim/machine/fields.h"

#include <algorithm>

#include "base/quantity.h"
#include "fmt/format.h"

namespace tranche::sim {

void Complaints::add(int line, std::string_view path, std::string_view what) {
  lines_.push_back(fmt::format("{}:{}: {}{}{}", file_, line, path, path.empty() ? "" : ": ", what));
}

Result<void> Complaints::result() const {
  if (lines_.empty()) return {};
  return fail(Code::kInvalidArgument, fmt::format("{}", fmt::join(lines_, "\n")),
              "see sim/README.md for the fields of a machine");
}

Fields::Fields(const yaml::Node& node, std::string path, Complaints& complaints)
    : node_(node), path_(std::move(path)), complaints_(complaints) {
  if (node.kind != yaml::Kind::kMap) {
    complaints_.add(node.line, path_,
                    fmt::format("expected a mapping, found {}", yaml::describe(node.kind)));
  }
}

Fields::~Fields() {
  for (const yaml::Entry& entry : node_.entries) {
    if (std::ranges::find(asked_, entry.key) == asked_.end()) {
      complaints_.add(entry.line, path_of(entry.key),
                      fmt::format("unknown field; known here: {}", fmt::join(asked_, ", ")));
    }
  }
}

std::string Fields::path_of(std::string_view key) const {
  return path_.empty() ? std::string(key) : fmt::format("{}.{}", path_, key);
}

void Fields::complain(int line, std::string_view key, std::string_view what) {
  complaints_.add(line, path_of(key), what);
}

const yaml::Node* Fields::find(std::string_view key) {
  asked_.emplace_back(key);
  const yaml::Node* node = node_.find(key);
  return node == nullptr || node->kind == yaml::Kind::kNull ? nullptr : node;
}

const yaml::Node* Fields::wanted(std::string_view key, bool required) {
  const yaml::Node* node = find(key);
  if (node == nullptr) {
    if (required) complain(node_.line, key, "missing");
    return nullptr;
  }
  if (node->kind != yaml::Kind::kScalar) {
    complain(node->line, key,
             fmt::format("expected a plain value, found {}", yaml::describe(node->kind)));
    return nullptr;
  }
  return node;
}

void Fields::text(std::string_view key, std::string& out, bool required) {
  if (const yaml::Node* node = wanted(key, required)) out = node->scalar;
}

void Fields::number(std::string_view key, std::uint32_t& out, std::int64_t low, std::int64_t high,
                    bool required) {
  const yaml::Node* node = wanted(key, required);
  if (node == nullptr) return;
  const auto value = yaml::as_int(*node);
  if (!value || *value < low || *value > high) {
    complain(node->line, key,
             fmt::format("expected a number from {} to {}, found '{}'", low, high, node->scalar));
    return;
  }
  out = static_cast<std::uint32_t>(*value);
}

void Fields::flag(std::string_view key, bool& out) {
  const yaml::Node* node = wanted(key, false);
  if (node == nullptr) return;
  const auto value = yaml::as_bool(*node);
  if (!value) {
    complain(node->line, key, fmt::format("expected true or false, found '{}'", node->scalar));
    return;
  }
  out = *value;
}

void Fields::bytes(std::string_view key, std::uint64_t& out, bool required) {
  const yaml::Node* node = wanted(key, required);
  if (node == nullptr) return;
  const auto value = parse_bytes(node->scalar);
  if (!value) {
    complain(node->line, key, fmt::format("{} (write for example 15360Mi)", value.error().what));
    return;
  }
  out = value->value;
}

const std::vector<yaml::Node>& Fields::list(std::string_view key) {
  static const std::vector<yaml::Node> kEmpty;
  const yaml::Node* node = find(key);
  if (node == nullptr) return kEmpty;
  if (node->kind != yaml::Kind::kSequence) {
    complain(node->line, key, fmt::format("expected a list, found {}", yaml::describe(node->kind)));
    return kEmpty;
  }
  return node->items;
}

}  // namespace tranche::sim
