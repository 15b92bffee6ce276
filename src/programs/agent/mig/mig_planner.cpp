#include "agent/mig/mig_planner.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "agent/hardware/leaving.h"
#include "agent/mig/mig_kept.h"
#include "agent/mig/mig_neighbours.h"
#include "base/fs.h"
#include "offer/make_offer.h"

namespace tranche::agent {
namespace {

// The wish while the file cannot be read; other wishes are checksums.
constexpr const char* kUnreadable = "unreadable";

bool answers(const gpu::Gpu& gpu) {
  return gpu.presence == gpu::Presence::kPresent && gpu.mig_refused.empty() &&
         gpu.mig_unread.empty();
}

// Strategy single cannot advertise every layout.
Result<void> check_offer(const gpu::Machine& machine, const config::Config& config) {
  const auto offer = offer::make_offer(machine, config, {});
  if (!offer.resources.empty() || offer.withheld.empty()) return {};
  return fail(Code::kFailedPrecondition,
              fmt::format("with this layout nothing could be advertised: {}",
                          offer.withheld.front().reason));
}

// Whether a change to this layout is in progress or has ended.
bool is_known(const std::string& label, const MigProgress& progress) {
  const auto* outcome = progress.of_wish();
  return progress.journal || (outcome != nullptr && outcome->label == label);
}

}  // namespace

void MigPlanner::look(const MigProgress& progress, const std::shared_ptr<const MigView>& view,
                      MigFacts& facts) {
  if (progress.journal) forget();
  if (!facts.node_known) return;
  if (facts.label.empty()) {
    facts.wish = "";
    return;
  }
  if (!do_all_answer(view->machine())) return;
  auto text = read_file();
  if (!text) return look_without_file(std::move(text).error(), progress, facts);
  auto marked = read(facts.label, *text, view->machine());
  if (!marked) return look_without_file(std::move(marked).error(), progress, facts);
  const auto wish = *std::move(marked);
  // A file that is being edited does not end the layout in force or a change.
  if (!wish.is_file_read && is_known(facts.label, progress)) {
    return look_without_file(wish.gpus.error(), progress, facts);
  }
  said_.forget("file");
  warn(wish.warnings);
  facts.wish = wish.key;
  if (progress.journal || !plan(wish, view)) return;
  facts.plan = planned_->plan;
  facts.present = layouts_of(planned_->states);
  look_at_modes(progress, view->machine(), facts);
  const auto* outcome = progress.of_wish();
  if (outcome == nullptr) return;
  if (outcome->failed() && outcome->kept.boot != progress.boot) {
    facts.lost = lost(*outcome, view->machine());
    if (facts.lost && !facts.lost->empty()) facts.holders = holders_of(*facts.lost, *view);
  }
  const bool rebooted = !outcome->failed() && outcome->boot != progress.boot;
  if (rebooted && *facts.plan && !(*facts.plan)->empty()) {
    facts.holders = holders_of(**facts.plan, *view);
  }
}

// A layout covers all GPUs that it names, so all must be readable.
bool MigPlanner::do_all_answer(const gpu::Machine& machine) {
  const auto silent = std::ranges::find_if_not(machine.gpus, answers);
  if (silent == machine.gpus.end()) {
    said_.forget("gpus");
    return true;
  }
  const auto text =
      fmt::format("no MIG layout is looked at while GPU {} does not answer", silent->index);
  if (said_.is_news("gpus", text)) ports_.log.warn(text);
  return false;
}

Result<std::optional<std::string>> MigPlanner::read_file() const {
  if (file_.empty()) return std::nullopt;
  ASSIGN_OR_RETURN(auto text, FsRoot().read(file_));
  return text;
}

// An error: the text has ended its readers.
Result<MigWish> MigPlanner::read(const std::string& label, const std::optional<std::string>& text,
                                 const gpu::Machine& machine) {
  if (!text || text == survived_) return read_wish(label, text, file_, machine);
  TRY(mark_.begin(*text, file_));
  auto wish = read_wish(label, text, file_, machine);
  mark_.end();
  survived_ = text;
  return wish;
}

// What is in force, or failed, stays so. A new label gets an answer, because somebody waits for it;
// with the file it is another wish.
void MigPlanner::look_without_file(Error error, const MigProgress& progress, MigFacts& facts) {
  const bool is_news = said_.is_news("file", error.what);
  auto refusal = std::move(error).with_context("the file of MIG layouts cannot be read");
  if (is_news) ports_.log.warn(refusal);
  if (is_known(facts.label, progress)) return;
  facts.wish = kUnreadable;
  facts.plan = std::unexpected(std::move(refusal));
}

void MigPlanner::warn(const std::vector<std::string>& warnings) {
  if (!said_.is_news("layouts", fmt::format("{}", fmt::join(warnings, "\n")))) return;
  for (const auto& warning : warnings) ports_.log.warn(warning);
}

bool MigPlanner::plan(const MigWish& wish, const std::shared_ptr<const MigView>& view) {
  if (is_current(wish, view)) return true;
  planned_.reset();
  auto states = read_gpus(wish);
  if (!states) return false;
  auto plan = make(wish, *states, *view);
  planned_.emplace(
      Planned{wish.key, view, std::move(plan), *std::move(states), ports_.clock.now()});
  return true;
}

bool MigPlanner::is_current(const MigWish& wish, const std::shared_ptr<const MigView>& view) {
  if (!planned_ || planned_->wish != wish.key || planned_->view != view) return false;
  if (ports_.clock.now() < planned_->read + kModesAge) return true;
  planned_->read = ports_.clock.now();
  return std::ranges::all_of(planned_->states, [&](const auto& known) {
    const auto state = ports_.control.read(known.first);
    return !state || *state == known.second;
  });
}

// nullopt: a GPU cannot be read. For a wish that cannot be met none is read.
std::optional<MigStates> MigPlanner::read_gpus(const MigWish& wish) {
  MigStates states;
  if (!wish.gpus) return states;
  for (const auto& [uuid, ignored] : *wish.gpus) {
    auto state = ports_.control.read(uuid);
    if (!state) {
      if (said_.is_news("layout", state.error().what)) ports_.log.warn(state.error());
      return std::nullopt;
    }
    states.emplace(uuid, *std::move(state));
  }
  said_.forget("layout");
  return states;
}

Result<MigPlan> MigPlanner::make(const MigWish& wish, const MigStates& states,
                                 const MigView& view) {
  if (!wish.gpus) return std::unexpected(wish.gpus.error());
  const auto& machine = view.machine();
  ASSIGN_OR_RETURN(auto plan, make_plan(*wish.gpus, layouts_of(states), machine,
                                        ports_.holders.instances(states, machine)));
  if (!plan.empty()) TRY(check_offer(with_layouts(machine, plan.to), view.state.config));
  return plan;
}

// Which modes of the wish's GPUs wait for a reset, came with a reboot, or were set by somebody
// else.
void MigPlanner::look_at_modes(const MigProgress& progress, const gpu::Machine& machine,
                               MigFacts& facts) {
  if (!*facts.plan) return;
  const auto& plan = **facts.plan;
  facts.waiting = describe_waiting(plan, machine);
  facts.reboot = describe_reboot(plan, planned_->states, machine);
  const auto* outcome = progress.of_wish();
  if (outcome == nullptr || outcome->boot == progress.boot) return;
  if (outcome->failed()) {
    facts.mode_came = has_mode_come(plan, facts.present, outcome->kept);
    return;
  }
  auto were = plan.to;
  for (const auto& [uuid, layout] : outcome->kept.layout) were.insert_or_assign(uuid, layout);
  facts.set_by_others = set_by_others(were, plan.from, machine);
}

// MigFacts::lost. Ignores GPUs that are missing now.
std::optional<MigPlan> MigPlanner::lost(const MigOutcome& outcome, const gpu::Machine& machine) {
  MigPlan lost;
  for (const auto& [uuid, layout] : outcome.kept.layout) {
    const auto* gpu = gpu::find_gpu(machine, uuid);
    if (gpu == nullptr) continue;
    const auto state = ports_.control.read(uuid);
    if (!state) return std::nullopt;
    auto present = mig::layout_of(*state);
    if (is_set_since(layout, present, *gpu)) continue;
    if (present == mig::as_it_can_be(layout, present)) continue;
    lost.from.emplace(uuid, std::move(present));
    lost.to.emplace(uuid, layout);
  }
  return lost;
}

std::optional<std::vector<cluster::ObjectKey>> MigPlanner::holders_of(const MigPlan& plan,
                                                                      const MigView& view) {
  mig::Journal journal;
  journal.from = plan.from;
  journal.to = plan.to;
  auto standing = changing(journal, read_states(ports_.control, journal.to));
  standing.neighbours = neighbours(journal, view.machine(), view.state.config).gpus;
  return ports_.holders.of(leaving_devices(standing, view.machine()), MigHolders::kAge);
}

}  // namespace tranche::agent
