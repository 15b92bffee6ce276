// The annotation of a Node whose label was set for a pool, and the words of a pool's status.

#include <fmt/format.h>

#include <algorithm>

#include "base/first_few.h"
#include "base/json.h"
#include "base/json_fields.h"
#include "base/json_value.h"
#include "cluster/checks.h"
#include "mig/empty.h"
#include "mig/pool_plan.h"

namespace tranche::mig {
namespace {

constexpr std::string_view kMarkVersion = "mig-pool/v1";
constexpr std::size_t kLongestMark = 4096;
// Nodes named in a status.
constexpr std::size_t kNodesNamed = 10;

std::string label_of(const json::Fields& fields, std::string_view key, Empty empty) {
  auto text = fields.text(key);
  if (!cluster::is_label_value(text) && !(empty == Empty::kAllowed && text.empty())) {
    fields.refuse(key, "is missing, or cannot be one");
  }
  return text;
}

std::string named(const std::vector<std::string>& nodes) { return first_few(nodes, kNodesNamed); }

std::string named(const std::vector<PoolStatus::Remark>& remarks) {
  std::vector<std::string> texts;
  for (const auto& one : remarks) texts.push_back(fmt::format("{} ({})", one.node, one.what));
  return named(texts);
}

}  // namespace

std::string encode(const PoolMark& mark) {
  return json::Value({{"version", kMarkVersion},
                      {"pool", mark.pool},
                      {"layout", mark.layout},
                      {"before", mark.before},
                      {"label", mark.label},
                      {"back", mark.back},
                      {"since", cluster::micro_time(mark.since)}})
      .text();
}

Result<PoolMark> decode_pool_mark(std::string_view text) {
  if (text.size() > kLongestMark) return fail(Code::kInvalidArgument, "it is too long");
  ASSIGN_OR_RETURN(const auto root, json::parse_strict(text));
  return json::read_fields(root, [](const json::Fields& fields) {
    if (fields.text("version") != kMarkVersion) fields.refuse("version", "is another one");
    PoolMark mark{.pool = label_of(fields, "pool", Empty::kRefused),
                  .layout = label_of(fields, "layout", Empty::kRefused),
                  .before = label_of(fields, "before", Empty::kAllowed),
                  .label = label_of(fields, "label", Empty::kAllowed),
                  .back = fields.boolean("back")};
    const auto since = cluster::parse_time(fields.text("since"));
    if (!since) fields.refuse("since", since.error().what);
    mark.since = since.value_or(cluster::WallTime());
    return mark;
  });
}

std::string_view to_string(PoolStatus::Phase phase) {
  switch (phase) {
    case PoolStatus::Phase::kRolling:
      return "rolling";
    case PoolStatus::Phase::kDone:
      return "done";
    case PoolStatus::Phase::kStopped:
      return "stopped";
    case PoolStatus::Phase::kRollingBack:
      return "rolling back";
    case PoolStatus::Phase::kRolledBack:
      break;
  }
  return "rolled back";
}

std::string describe(const PoolStatus& status) {
  auto text = fmt::format("{}: {} of {} nodes have {}", to_string(status.phase), status.done,
                          status.nodes, status.layout);
  if (!status.now.empty()) text += fmt::format("; now {}", named(status.now));
  if (!status.failed.empty()) text += fmt::format("; failed: {}", named(status.failed));
  if (!status.left_alone.empty()) {
    text += fmt::format("; left alone: {}", named(status.left_alone));
  }
  return text;
}

}  // namespace tranche::mig
