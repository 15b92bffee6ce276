#include "mig/pool.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <set>

#include "base/printable.h"
#include "base/yaml.h"
#include "cluster/checks.h"
#include "config/go_values.h"
#include "config/problems.h"

namespace tranche::mig {
namespace {

constexpr std::size_t kMostPools = 100;
constexpr std::size_t kMostSelectors = 32;
constexpr std::chrono::hours kLongestTimeout{7 * 24};
constexpr std::array<std::string_view, 8> kPoolKeys = {
    "name",      "nodeSelector", "layout",       "maxUnavailable",
    "onFailure", "rollBackTo",   "acceptOutage", "timeout"};

class PoolReader {
 public:
  explicit PoolReader(std::string_view file_name) : file_name_(file_name) {}

  Result<std::vector<Pool>> read(const yaml::Document& document) {
    for (const auto& twice : document.duplicates) {
      error(twice.line, fmt::format("\"{}\" is there twice", printable(twice.key, 80)), "keep one");
    }
    if (document.next_line > 0) {
      error(document.next_line, "another document begins here, and the first one alone is read",
            "write all pools into one");
    }
    top(document.root);
    if (problems_.any_errors()) {
      return std::unexpected(problems_.as_error(Code::kInvalidArgument));
    }
    return std::move(pools_);
  }

 private:
  void error(int line, std::string_view what, std::string_view remedy) {
    problems_.error(fmt::format("{}:{}", file_name_, line), what, remedy);
  }

  void top(const yaml::Node& root) {
    if (yaml::says_nothing(root)) {
      return error(1, "it is empty, so no node gets a layout",
                   "begin it with \"pools:\", or remove the ConfigMap; \"pools: []\" has none");
    }
    const auto* list = root.find("pools");
    if (list == nullptr || root.entries.size() != 1) {
      return error(root.line, "it holds something else than pools", "begin it with \"pools:\"");
    }
    if (list->kind != yaml::Kind::kSequence || list->items.size() > kMostPools) {
      return error(list->line, "pools is no list, or too long",
                   fmt::format("write at most {} entries", kMostPools));
    }
    for (const auto& item : list->items) pool(item);
  }

  void pool(const yaml::Node& item) {
    for (const auto& [key, line, value] : item.entries) {
      if (std::ranges::find(kPoolKeys, key) != kPoolKeys.end()) continue;
      error(line, fmt::format("unknown key \"{}\"", printable(key, 80)), "remove it");
    }
    Pool pool{.name = text(item, "name", cluster::is_label_value, Need::kRequired),
              .layout = text(item, "layout", cluster::is_label_value, Need::kRequired),
              .roll_back_to = text(item, "rollBackTo", cluster::is_label_value, Need::kOptional)};
    if (!names_.insert(pool.name).second) {
      error(item.line, fmt::format("two pools are called \"{}\"", pool.name), "rename one");
    }
    selector(item, pool);
    budget(item, pool);
    on_failure(item, pool);
    if (const auto* accept = item.find("acceptOutage")) {
      const auto value = yaml::as_bool(*accept);
      if (!value) error(accept->line, "acceptOutage is no truth value", "write true or false");
      pool.accept_outage = value.value_or(false);
    }
    timeout(item, pool);
    pools_.push_back(std::move(pool));
  }

  enum class Need { kRequired, kOptional };
  std::string text(const yaml::Node& item, std::string_view key, bool (*is_one)(std::string_view),
                   Need need) {
    const auto* found = item.find(key);
    if (found == nullptr || found->kind == yaml::Kind::kNull || found->scalar.empty()) {
      if (need == Need::kRequired) error(item.line, fmt::format("{} is missing", key), "name it");
      return {};
    }
    if (found->kind == yaml::Kind::kScalar && is_one(found->scalar)) return found->scalar;
    error(found->line, fmt::format("{} cannot be the value of a label", key),
          "write at most 63 letters, digits, '-', '_' and '.'");
    return {};
  }

  void selector(const yaml::Node& item, Pool& pool) {
    const auto* found = item.find("nodeSelector");
    if (found == nullptr || found->kind != yaml::Kind::kMap || found->entries.empty() ||
        found->entries.size() > kMostSelectors) {
      return error(found == nullptr ? item.line : found->line,
                   "nodeSelector is missing, empty or no mapping",
                   "say by labels which nodes are meant");
    }
    for (const auto& [key, line, value] : found->entries) {
      if (value.kind != yaml::Kind::kScalar) {
        error(line, "a label's value is no text", "put it in quotes");
      }
      pool.node_selector[key] = value.scalar;
    }
  }

  void budget(const yaml::Node& item, Pool& pool) {
    const auto* found = item.find("maxUnavailable");
    if (found == nullptr) return;
    std::string_view text = found->scalar;
    pool.max_unavailable.percent = text.ends_with('%');
    if (pool.max_unavailable.percent) text.remove_suffix(1);
    const auto* end = text.data() + text.size();
    const auto [at, failure] = std::from_chars(text.data(), end, pool.max_unavailable.number);
    const int most = pool.max_unavailable.percent ? 100 : 10'000;
    if (failure == std::errc() && at == end && pool.max_unavailable.number >= 1 &&
        pool.max_unavailable.number <= most) {
      return;
    }
    error(found->line, "maxUnavailable is no number of nodes", "write 1 or more, or \"25%\"");
    pool.max_unavailable = {};
  }

  void on_failure(const yaml::Node& item, Pool& pool) {
    const auto* found = item.find("onFailure");
    if (found == nullptr || found->scalar == "stop") return;
    if (found->scalar != "rollBack") {
      return error(found->line, "onFailure is neither stop nor rollBack", "write one of them");
    }
    pool.on_failure = Pool::OnFailure::kRollBack;
  }

  void timeout(const yaml::Node& item, Pool& pool) {
    const auto* found = item.find("timeout");
    if (found == nullptr) return;
    const auto value = config::go::parse_duration(found->scalar);
    if (!value || *value <= std::chrono::nanoseconds(0) || *value > kLongestTimeout) {
      return error(found->line, "timeout is no duration, or longer than a week",
                   "write one such as 30m");
    }
    pool.timeout = *value;
  }

  std::string_view file_name_;
  config::Problems problems_{true};
  std::vector<Pool> pools_;
  std::set<std::string> names_;
};

}  // namespace

Result<std::vector<Pool>> parse_pools(std::string_view text, std::string_view file_name) {
  ASSIGN_OR_RETURN(const auto document, yaml::parse(text, file_name));
  return PoolReader(file_name).read(document);
}

std::size_t allowed_away(const Pool::Budget& budget, std::size_t nodes) {
  const auto number = static_cast<std::size_t>(std::max(budget.number, 1));
  return std::max<std::size_t>(budget.percent ? nodes * number / 100 : number, 1);
}

}  // namespace tranche::mig
