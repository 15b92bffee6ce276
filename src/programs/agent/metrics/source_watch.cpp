#include "agent/metrics/source_watch.h"

#include <fmt/format.h>

#include "cluster/formats/reasons.h"
#include "explain/node/node_checks.h"

namespace tranche::agent {
namespace {

std::string describe(const std::set<std::string>& failing) {
  std::string text;
  for (const auto& source : failing) {
    const auto* const check = explain::check_of_source(source);
    if (check == nullptr) continue;
    text +=
        fmt::format("{}{}: {}: {}", text.empty() ? "" : "; ", check->id, check->what, check->fix);
  }
  return text;
}

}  // namespace

std::optional<NodeNotice> SourceWatch::look(std::span<const usage::Check> checks,
                                            std::chrono::steady_clock::time_point now) {
  bool is_news = false;
  for (const auto& [name, works] : checks) {
    if (works != told_.contains(name)) {
      since_.erase(name);
      continue;
    }
    const auto [since, is_new] = since_.emplace(name, now);
    if (now - since->second < kPatience) continue;
    since_.erase(since);
    is_news = true;
    if (works) {
      told_.erase(name);
    } else {
      told_.insert(name);
    }
  }
  if (!is_news) return std::nullopt;
  if (told_.empty()) {
    return NodeNotice{.warning = false,
                      .reason = cluster::reason::kAttributionWorks,
                      .action = "Attribute",
                      .note = "who uses what of the GPUs is known again"};
  }
  return NodeNotice{
      .warning = true,
      .reason = cluster::reason::kAttributionDegraded,
      .action = "Attribute",
      .note = "who uses what of the GPUs is not known, or not of all: " + describe(told_)};
}

}  // namespace tranche::agent
