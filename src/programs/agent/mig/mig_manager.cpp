#include "agent/mig/mig_manager.h"

#include <utility>

namespace tranche::agent {
namespace {

using std::chrono::milliseconds;
using Phase = mig::Journal::Phase;

constexpr int kMostSteps = 16;  // of one turn
constexpr milliseconds kUntilKnown{200};

// The time until something may have changed without waking the manager.
milliseconds wait_in(const MigProgress& progress) {
  if (!progress.journal) return std::chrono::seconds(2);
  switch (progress.journal->phase) {
    case Phase::kDraining:
    case Phase::kUndoing:
      return milliseconds(200);
    case Phase::kVerifying:
      return milliseconds(30);
    default:
      return milliseconds(500);
  }
}

MigObserver::Ports ports_of_observer(const MigManager::Ports& ports) {
  return {.control = ports.control,
          .holders = {.kubelet = ports.kubelet,
                      .answers = ports.holders,
                      .book = ports.book,
                      .users_of_claim = ports.users_of_claim,
                      .pods = ports.pods,
                      .look_again = ports.look_again,
                      .renew_checkpoint = ports.renew_checkpoint},
          .node = ports.node,
          .clock = ports.clock,
          .log = ports.log};
}

MigExecutor::Ports ports_of_executor(const MigManager::Ports& ports,
                                     std::function<bool(const std::stop_token&)> publish) {
  return {.control = ports.control,
          .reset = ports.reset,
          .boot = ports.boot(),
          .users = ports.users,
          .quiet = ports.quiet,
          .publish = std::move(publish),
          .read_hardware = ports.read_hardware,
          .look_again = ports.look_again,
          .clock = ports.clock,
          .log = ports.log};
}

}  // namespace

MigManager::MigManager(Options options, Ports ports)
    : settings_(options.settings),
      node_(ports.node),
      observer_({.state_dir = options.state_dir,
                 .config_file = options.config_file,
                 .own_pod = options.own_pod},
                ports_of_observer(ports)),
      executor_(
          {.state_dir = options.state_dir,
           .changing = settings_.times.changing,
           .retries = options.retries},
          ports_of_executor(ports, [this](const std::stop_token& stop) { return publish(stop); })),
      announcer_(settings_.times, {.write = ports.write,
                                   .tell = ports.tell,
                                   .report = ports.report,
                                   .clock = ports.clock,
                                   .log = ports.log}) {
  announcer_.note_remark(executor_.progress());
}

milliseconds MigManager::turn(const std::stop_token& stop) {
  if (!restore()) return kUntilKnown;
  for (int i = 0; i < kMostSteps && !stop.stop_requested(); ++i) {
    const bool more = step(stop);
    announcer_.note_remark(executor_.progress());
    if (!stop.stop_requested()) publish(stop);
    if (!more) break;
  }
  if (const auto node = node_()) executor_.note_told(*node);
  return wait_in(executor_.progress());
}

bool MigManager::restore() {
  const auto& progress = executor_.progress();
  if (progress.restored) return true;
  const auto view = this->view();
  if (view == nullptr) return false;
  const auto node = node_();
  if (!executor_.restore(node ? std::optional(*node) : std::nullopt, *view)) return false;
  // The previous agent may have stored the journal and ended before it reported.
  if (progress.is_in(Phase::kFinished) && progress.journal->boot == progress.boot) {
    announcer_.report_end(progress);
  }
  return true;
}

bool MigManager::step(const std::stop_token& stop) {
  const auto& progress = executor_.progress();
  const bool more = progress.closing || decide(stop);
  if (!progress.closing) return more;
  // The Node is written before the journal is removed, or the next agent would take the Node's text
  // for a change in progress.
  return publish(stop) && executor_.close();
}

bool MigManager::decide(const std::stop_token& stop) {
  const auto view = this->view();
  const auto& progress = executor_.progress();
  executor_.refresh(*view);
  const auto facts = observer_.observe(progress, executor_.leaving(), view);
  announcer_.note_wait(facts, progress);
  const auto move = next_move(progress.journal, facts, settings_);
  if (move.kind == MigMove::Kind::kForget) observer_.forget_plan();
  const auto before = progress.journal ? std::optional(progress.journal->phase) : std::nullopt;
  const bool more = executor_.execute(move, facts, *view, stop);
  // A journal that was not stored is not in force.
  if (move.kind != MigMove::Kind::kJournal || more) {
    announcer_.report(move, facts, progress, before, *view);
  }
  return more;
}

bool MigManager::publish(const std::stop_token& stop) {
  const auto& progress = executor_.progress();
  if (!progress.restored) return false;
  const auto view = this->view();
  if (progress.journal) observer_.name_pods(*progress.journal, executor_.leaving(), *view);
  const auto node = node_();
  return node && announcer_.publish(*node, progress, observer_.pods(), *view, stop);
}

void MigManager::follow(MigView view) {
  auto shared = std::make_shared<const MigView>(std::move(view));
  const std::scoped_lock lock(mutex_);
  view_ = std::move(shared);
}

std::shared_ptr<const MigView> MigManager::view() const {
  const std::scoped_lock lock(mutex_);
  return view_;
}

}  // namespace tranche::agent
