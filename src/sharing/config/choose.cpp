#include "config/choose.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace tranche::config {
namespace {

constexpr std::string_view kDefaultName = "default";

bool contains(std::span<const std::string> names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

std::string list(std::span<const std::string> names) {
  if (names.empty()) return "there are no configurations";
  return fmt::format("there are {}", fmt::join(names, ", "));
}

Result<Choice> named(const std::string& name, std::string reason,
                     std::span<const std::string> names) {
  if (contains(names, name)) return Choice{name, std::move(reason)};
  return fail(Code::kNotFound, fmt::format("{}: specified config {} does not exist", reason, name),
              list(names));
}

std::optional<Choice> fall_back(Fallback fallback, std::span<const std::string> names) {
  switch (fallback) {
    case Fallback::kNamed:
      if (!contains(names, kDefaultName)) return std::nullopt;
      return Choice{std::string(kDefaultName), "no label and no default: the one named 'default'"};
    case Fallback::kSingle:
      if (names.size() != 1) return std::nullopt;
      return Choice{names.front(), "no label and no default: the only one"};
    case Fallback::kEmpty:
      return Choice{std::nullopt, "no label and no default: the empty configuration"};
  }
  return std::nullopt;
}

}  // namespace

Result<std::vector<Fallback>> parse_fallbacks(const std::vector<std::string>& names) {
  std::vector<Fallback> fallbacks;
  for (const auto& name : names) {
    if (name == "named") {
      fallbacks.push_back(Fallback::kNamed);
    } else if (name == "single") {
      fallbacks.push_back(Fallback::kSingle);
    } else if (name == "empty") {
      fallbacks.push_back(Fallback::kEmpty);
    } else {
      return fail(Code::kInvalidArgument, fmt::format("unknown fallback strategy: {}", name),
                  "write named, single or empty");
    }
  }
  return fallbacks;
}

Result<Choice> choose(const Wish& wish, std::span<const std::string> names) {
  if (wish.label && !wish.label->empty()) {
    return named(*wish.label, fmt::format("label {}={}", wish.label_key, *wish.label), names);
  }
  if (wish.default_name && !wish.default_name->empty()) {
    return named(*wish.default_name, fmt::format("default {}", *wish.default_name), names);
  }
  for (const auto fallback : wish.fallbacks) {
    if (auto choice = fall_back(fallback, names)) return *std::move(choice);
  }
  return fail(
      Code::kNotFound, "no config was set, no default was provided, and all fallbacks failed",
      fmt::format("label the node {}=<name> or name a default; {}", wish.label_key, list(names)));
}

}  // namespace tranche::config
