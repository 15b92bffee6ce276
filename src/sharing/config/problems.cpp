#include "config/problems.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace tranche::config {
namespace {

// More messages would not help.
constexpr std::size_t kMaxShown = 50;

std::string message(std::string_view where, std::string_view what, std::string_view remedy) {
  if (remedy.empty()) return fmt::format("{}: {}", where, what);
  return fmt::format("{}: {}; {}", where, what, remedy);
}

std::vector<std::string> shorten(std::vector<std::string> messages, std::string_view kind) {
  if (messages.size() <= kMaxShown) return messages;
  const auto rest = messages.size() - kMaxShown;
  messages.resize(kMaxShown);
  messages.push_back(fmt::format("and {} more {}", rest, kind));
  return messages;
}

}  // namespace

void Problems::error(std::string_view where, std::string_view what, std::string_view remedy) {
  errors_.push_back(message(where, what, remedy));
}

void Problems::error(const Error& error) { errors_.push_back(error.message()); }

void Problems::warn(std::string_view where, std::string_view what, std::string_view remedy) {
  warnings_.push_back(message(where, what, remedy));
}

void Problems::suspicious(std::string_view where, std::string_view what, std::string_view otherwise,
                          std::string_view remedy) {
  if (strict_) {
    error(where, what, remedy);
  } else {
    warn(where, fmt::format("{}, {}", what, otherwise), remedy);
  }
}

Error Problems::as_error(Code code) const {
  return {code, fmt::format("{}", fmt::join(shorten(errors_, "errors"), "\n"))};
}

std::vector<std::string> Problems::warnings() const { return shorten(warnings_, "warnings"); }

}  // namespace tranche::config
