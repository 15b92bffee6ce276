#include "config/limits.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/quantity.h"

namespace tranche::config {
namespace {

template <class T>
using NamedValue = std::pair<T, std::string_view>;

constexpr std::array kPolicies = {
    NamedValue<SharePolicy>{SharePolicy::kTimeSlice, "timeSlice"},
    NamedValue<SharePolicy>{SharePolicy::kPriority, "priority"},
};
constexpr std::array kUnregistered = {
    NamedValue<Unregistered>{Unregistered::kEvent, "event"},
    NamedValue<Unregistered>{Unregistered::kEvict, "evict"},
};

template <class Table>
std::string_view word_of(const Table& table, auto value) {
  const auto found = std::ranges::find(table, value, [](const auto& word) { return word.first; });
  return found == table.end() ? "unknown" : found->second;
}

template <class T, std::size_t N>
std::optional<T> value_of(const std::array<NamedValue<T>, N>& table, std::string_view text) {
  const auto found = std::ranges::find(table, text, [](const auto& word) { return word.second; });
  if (found == table.end()) return std::nullopt;
  return found->first;
}

constexpr std::string_view kPercentRemedy =
    "write more than 0% and at most 100%, with one decimal at most: 25%, 12.5%";

// "25%", "12.5%".
Result<Percent> parse_percent(std::string_view text) {
  const auto refuse = [&] {
    return fail(Code::kInvalidArgument, fmt::format("'{}' is no part of a device", text),
                std::string(kPercentRemedy));
  };
  const auto digits = text.substr(0, text.size() - 1);
  int permille = 0;
  int decimals = -1;  // before the point
  if (digits.starts_with('.')) return refuse();
  for (const char c : digits) {
    if (c == '.' && decimals < 0) {
      decimals = 0;
      continue;
    }
    if (c < '0' || c > '9' || permille > 1000) return refuse();
    if (decimals == 1) return refuse();
    if (decimals == 0) decimals = 1;
    permille = permille * 10 + (c - '0');
  }
  if (digits.empty() || decimals == 0) return refuse();
  if (decimals < 0) permille *= 10;
  if (permille < 1 || permille > 1000) return refuse();
  return Percent{permille};
}

struct ToText {
  std::string operator()(EqualPart) const { return "equal"; }
  std::string operator()(NoLimit) const { return "none"; }
  std::string operator()(Percent percent) const {
    if (percent.permille % 10 == 0) return fmt::format("{}%", percent.permille / 10);
    return fmt::format("{}.{}%", percent.permille / 10, percent.permille % 10);
  }
  std::string operator()(Bytes bytes) const { return to_quantity(bytes.value); }
};

// `equal` is the promise of the configuration, and cannot be set or proposed.
template <class Limit>
Result<Limit> as_setting(Result<Limit> limit, std::string_view remedy) {
  if (!limit && limit.error().hint.starts_with("write equal")) limit.error().hint = remedy;
  if (!limit || !std::holds_alternative<EqualPart>(*limit)) return limit;
  return fail(Code::kInvalidArgument, "equal is what the configuration promises",
              std::string(remedy));
}

}  // namespace

Priority Limits::class_of(std::string_view priority_class) const {
  const auto found =
      std::ranges::find(priority_classes, priority_class, &ClassOfPods::priority_class);
  return found == priority_classes.end() ? priority : found->value;
}

bool LimitTable::any_on() const {
  return general.on() ||
         std::ranges::any_of(resources, [](const auto& entry) { return entry.limits.on(); });
}

const ResourceLimits* LimitTable::find(const ResourceName& name) const {
  const auto found = std::ranges::find(resources, name, &ResourceLimits::name);
  return found == resources.end() ? nullptr : &*found;
}

const Limits& LimitTable::of(const ResourceName& name) const {
  const auto* entry = find(name);
  return entry == nullptr ? general : entry->limits;
}

Result<MemoryLimit> parse_memory_limit(std::string_view text) {
  if (text == "equal") return EqualPart{};
  if (text == "none") return NoLimit{};
  if (text.ends_with('%')) return parse_percent(text);
  const auto bytes = parse_bytes(text);
  if (bytes && bytes->mib() > 0) return *bytes;
  if (bytes && bytes->value > 0) {
    // A number of GiB or MiB whose unit was left out.
    return fail(Code::kInvalidArgument,
                fmt::format("'{}' is {} bytes, and less than 1 MiB is too little for any program",
                            text.substr(0, 64), bytes->value),
                "write the unit: 8Gi, 512Mi");
  }
  return fail(Code::kInvalidArgument,
              bytes ? "with no memory nothing can run"
                    : fmt::format("'{}' is no amount of memory", text.substr(0, 64)),
              "write equal, none, a quantity such as 8Gi, or a part of the device such as 25%");
}

Result<ComputeLimit> parse_compute_limit(std::string_view text) {
  if (text == "equal") return EqualPart{};
  if (text == "none") return NoLimit{};
  if (text.ends_with('%')) return parse_percent(text);
  return fail(Code::kInvalidArgument, fmt::format("'{}' is no share", text.substr(0, 64)),
              "write equal, none, or a part of the device's time such as 25%");
}

Result<MemoryLimit> parse_memory_setting(std::string_view text) {
  return as_setting(parse_memory_limit(text),
                    "write a quantity, a percentage of the device, or none");
}

Result<ComputeLimit> parse_compute_setting(std::string_view text) {
  return as_setting(parse_compute_limit(text), "write a percentage of the device's time, or none");
}

std::string to_text(const MemoryLimit& limit) { return std::visit(ToText{}, limit); }
std::string to_text(const ComputeLimit& limit) { return std::visit(ToText{}, limit); }

std::string_view to_string(SharePolicy value) { return word_of(kPolicies, value); }
std::string_view to_string(Unregistered value) { return word_of(kUnregistered, value); }

std::optional<SharePolicy> share_policy_of(std::string_view text) {
  return value_of(kPolicies, text);
}
std::optional<Unregistered> unregistered_of(std::string_view text) {
  return value_of(kUnregistered, text);
}

}  // namespace tranche::config
