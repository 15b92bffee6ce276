#include "mig/pool_plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/printable.h"
#include "cluster/formats/mig_change.h"
#include "cluster/label_selector.h"
#include "mig/node_filter.h"
#include "mig/outcome.h"

namespace tranche::mig {
namespace {

using cluster::value_of;

enum class Stage { kNew, kSomebodyElses, kChanging, kDone, kFailed, kGoingBack, kBack };

// A Node of the pool, and its progress.
struct Member {
  const cluster::Node* node = nullptr;
  std::optional<PoolMark> mark;  // only if written for this pool's layout
  Stage stage = Stage::kNew;
  std::string remark;
  bool away = false;  // it accepts no Pods, or will soon accept none
};

std::optional<PoolMark> mark_of(const cluster::Node& node) {
  auto mark = decode_pool_mark(value_of(node.annotations, kMigPoolAnnotation));
  return mark ? std::optional(*std::move(mark)) : std::nullopt;
}

// Whether the agent's state is about this layout: it may be an earlier layout's.
bool is_told(const cluster::Node& node, bool failed) {
  const auto outcome = outcome_on(node);
  return outcome && outcome->failed() == failed &&
         outcome->label == value_of(node.labels, cluster::kMigConfigLabel);
}

// For a Node that already has the wanted label: evaluates the agent's state.
void read_state(const Pool& pool, cluster::WallTime now, Member& member, Stage done,
                Stage changing) {
  const auto& state = value_of(member.node->labels, cluster::kMigStateLabel);
  const bool ended = state == "success" || state == "failed";
  if (ended && is_told(*member.node, state == "failed")) {
    member.stage = state == "success" ? done : Stage::kFailed;
    if (state == "failed") member.remark = "the agent says that it has failed";
  } else if (ended && !member.mark) {
    member.stage = Stage::kSomebodyElses;
    member.remark =
        fmt::format("its state is {}, but no agent of Tranche says so of this layout", state);
  } else if (member.mark && member.mark->since < now - pool.timeout) {
    member.stage = Stage::kFailed;
    member.remark = "it takes longer than the pool's timeout";
  } else {
    member.stage = changing;
  }
}

void read_stage(const Pool& pool, cluster::WallTime now, Member& member) {
  const auto& label = value_of(member.node->labels, cluster::kMigConfigLabel);
  const auto mark = mark_of(*member.node);
  if (mark && mark->layout == pool.layout) member.mark = mark;
  const bool is_ours = mark && mark->label == label;
  if (member.mark && is_ours && member.mark->back) {
    if (label.empty()) {
      member.stage = Stage::kBack;
    } else {
      read_state(pool, now, member, Stage::kBack, Stage::kGoingBack);
    }
  } else if (label == pool.layout) {
    if (!is_ours) member.mark.reset();
    read_state(pool, now, member, Stage::kDone, Stage::kChanging);
  } else if ((label.empty() && !member.mark) || (is_ours && !member.mark)) {
    member.stage = Stage::kNew;
  } else {
    member.stage = Stage::kSomebodyElses;
    member.remark = fmt::format("somebody else set the label {} to \"{}\"",
                                cluster::kMigConfigLabel, printable(label, 63));
  }
}

Member member_of(const Pool& pool, const cluster::Node& node, cluster::WallTime now) {
  Member member{.node = &node};
  read_stage(pool, now, member);
  const bool changes = member.stage == Stage::kChanging || member.stage == Stage::kGoingBack;
  member.away = changes || !is_ready(node) || node.unschedulable ||
                node.labels.contains(cluster::kMigChangeLabel) ||
                value_of(node.labels, cluster::kMigStateLabel) == "pending";
  return member;
}

std::vector<Member> members_of(const Pool& pool, const std::vector<cluster::Node>& nodes,
                               cluster::WallTime now) {
  std::vector<Member> members;
  for (const auto& node : nodes) {
    if (is_in(pool, node)) members.push_back(member_of(pool, node, now));
  }
  std::ranges::sort(members, {}, [](const Member& one) { return one.node->name; });
  return members;
}

PoolMark forward(const Pool& pool, const Member& member, cluster::WallTime now) {
  return {.pool = pool.name,
          .layout = pool.layout,
          .before = value_of(member.node->labels, cluster::kMigConfigLabel),
          .label = pool.layout,
          .back = false,
          .since = now};
}

PoolMark backward(const Pool& pool, const Member& member, cluster::WallTime now) {
  auto mark = *member.mark;
  mark.label = mark.before.empty() ? pool.roll_back_to : mark.before;
  mark.back = true;
  mark.since = now;
  return mark;
}

// A node in the middle of a change is waited for: its agent ends or undoes the change.
bool can_go_back(const Member& member) {
  const bool settled = member.stage == Stage::kDone || member.stage == Stage::kFailed;
  return settled && member.mark && !member.mark->back;
}

PoolStatus status_of(const Pool& pool, const std::vector<Member>& members) {
  PoolStatus status{.pool = pool.name, .layout = pool.layout, .nodes = members.size()};
  for (const auto& member : members) {
    const auto& name = member.node->name;
    if (member.stage == Stage::kDone) ++status.done;
    if (member.stage == Stage::kChanging || member.stage == Stage::kGoingBack) {
      status.now.push_back(name);
    }
    if (member.stage == Stage::kFailed) status.failed.push_back({name, member.remark});
    if (member.stage == Stage::kSomebodyElses) status.left_alone.push_back({name, member.remark});
    if (member.stage == Stage::kNew && !is_ready(*member.node)) {
      status.left_alone.push_back({name, "it is not Ready"});
    }
  }
  return status;
}

PoolStatus::Phase phase_of(const Pool& pool, const std::vector<Member>& members) {
  using enum PoolStatus::Phase;
  const auto is_back = [](const Member& one) { return one.mark && one.mark->back; };
  const auto has = [&](Stage stage) {
    return std::ranges::any_of(members, [&](const Member& one) { return one.stage == stage; });
  };
  const bool back = std::ranges::any_of(members, is_back);
  if (back || (has(Stage::kFailed) && pool.on_failure == Pool::OnFailure::kRollBack)) {
    const bool is_over = !has(Stage::kChanging) && !has(Stage::kGoingBack) &&
                         std::ranges::none_of(members, can_go_back);
    return is_over ? kRolledBack : kRollingBack;
  }
  if (has(Stage::kFailed)) return kStopped;
  return has(Stage::kNew) || has(Stage::kChanging) ? kRolling : kDone;
}

}  // namespace

bool is_in(const Pool& pool, const cluster::Node& node) {
  return cluster::selects({pool.node_selector, {}}, node.labels);
}

PoolPlan plan_pool(const Pool& pool, const std::vector<cluster::Node>& nodes,
                   cluster::WallTime now) {
  const auto members = members_of(pool, nodes, now);
  PoolPlan plan{.writes = {}, .status = status_of(pool, members)};
  plan.status.phase = phase_of(pool, members);
  const bool back = plan.status.phase == PoolStatus::Phase::kRollingBack;
  if (!back && plan.status.phase != PoolStatus::Phase::kRolling) return plan;
  auto away = static_cast<std::size_t>(
      std::ranges::count(members, true, [](auto& one) { return one.away; }));
  const auto allowed = allowed_away(pool.max_unavailable, members.size());
  for (const auto& member : members) {
    const bool is_next = back ? can_go_back(member) : member.stage == Stage::kNew;
    if (!is_next || !is_ready(*member.node)) continue;
    // A node that is already away costs nothing.
    if (!member.away && away >= allowed) continue;
    if (!member.away) ++away;
    plan.writes.push_back({*member.node,
                           back ? backward(pool, member, now) : forward(pool, member, now),
                           pool.accept_outage});
  }
  return plan;
}

}  // namespace tranche::mig
