// Amounts that a request has of a capacity.

#include <fmt/format.h>

#include <algorithm>

#include "admission/amount.h"
#include "base/quantity.h"
#include "explain/lint/dra.h"

namespace tranche::lint {
namespace {

constexpr std::int64_t kMostPercent = 100;
constexpr std::int64_t kLeastMemory = std::int64_t{1} << 20U;

bool is_whole_amount(std::string_view text) {
  if (text.ends_with('i')) return true;  // 0.5Gi
  const auto amount = admission::parse_amount(text);
  return amount && !amount->is_fraction();
}

// Keys of devices must match those in slices exactly.
void check_key(const Place& value, std::string& key, const Surroundings& around) {
  const auto known = around.names.capacity_keys();
  if (known.contains(key)) return;
  const auto bare = key.substr(key.find('/') + 1);
  if (bare != key && known.contains(bare)) {
    value.corrected(fmt::format("no device has a capacity {}: ResourceSlices write {} without a "
                                "domain, so the claim would wait for ever",
                                shown(key), bare),
                    fmt::format("write {}", bare));
    key = bare;
    return;
  }
  if (!around.names_are_the_clusters && bare != key) return;  // another driver's
  auto what =
      fmt::format("no device has a capacity {}, so the claim would wait for ever", shown(key));
  auto fix =
      did_you_mean(bare, {known.begin(), known.end()}, "write a capacity that the devices have");
  if (around.names_are_the_clusters) {
    value.error(std::move(what), std::move(fix));
  } else {
    value.doubt(std::move(what), std::move(fix));
  }
}

void check_amount(const Place& value, std::string_view key) {
  auto& node = value.node();
  const auto text = node.scalar;
  const bool is_percent = text.ends_with('%') && parse_quantity(text.substr(0, text.size() - 1));
  if (key == "compute" && is_percent) {
    const auto bare = text.substr(0, text.size() - 1);
    value.corrected(fmt::format("{} is no quantity", shown(text)),
                    fmt::format("write \"{}\": compute is counted in percent", bare));
    value.set_text(bare);
    return;
  }
  const auto amount = parse_quantity(text);
  if (node.kind != yaml::Kind::kScalar || !amount) {
    value.error(fmt::format("{} is no quantity", shown(text)),
                key == "compute" ? "write percent, such as \"50\"" : "write one such as 12Gi");
  } else if (!is_whole_amount(text)) {
    value.error(fmt::format("{} is no whole number: the scheduler rounds it up to {}", shown(text),
                            *amount),
                key == "compute" ? "write percent, such as \"50\"" : "write a whole number");
  } else if (*amount < 0) {
    value.error(fmt::format("{} is negative", shown(text)), "write how much is needed");
  } else if (key == "compute" && *amount > kMostPercent) {
    value.error(fmt::format("compute is {}, and a device has {} percent", *amount, kMostPercent),
                "write a number from 1 to 100");
  } else if (key == "memory" && *amount < kLeastMemory) {
    value.doubt(
        fmt::format("memory is {} bytes", *amount),
        fmt::format("write a unit, such as {}Gi", std::clamp<std::int64_t>(*amount, 1, 80)));
  }
}

}  // namespace

void check_capacity(const Place& body, const Surroundings& around) {
  const auto capacity = body.map("capacity");
  if (!capacity) return;
  capacity->check_keys({"requests"});
  const auto requests = capacity->map("requests");
  if (!requests) return;
  for (auto& entry : requests->node().entries) {
    const Place value(entry.value, entry.line,
                      fmt::format("{}[{}]", requests->path(), shown(entry.key)),
                      requests->report());
    const auto slash = entry.key.find('/');
    const auto name = entry.key.substr(slash == std::string::npos ? 0 : slash + 1);
    check_key(value, entry.key, around);
    check_amount(value, name);
  }
}

}  // namespace tranche::lint
