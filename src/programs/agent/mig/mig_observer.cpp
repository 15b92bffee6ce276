#include "agent/mig/mig_observer.h"

#include <algorithm>
#include <utility>

#include "agent/hardware/leaving.h"
#include "agent/mig/mig_kept.h"
#include "agent/mig/mig_node.h"
#include "agent/mig/mig_verify.h"

namespace tranche::agent {
namespace {

using Phase = mig::Journal::Phase;

bool may_grow(Phase phase) { return phase == Phase::kAsking || phase == Phase::kDraining; }

// Whether kubelet must stop giving out what is withheld before anything else happens.
bool drains(const MigProgress& progress) {
  return progress.is_in(Phase::kDraining) || (progress.is_in(Phase::kUndoing) && !progress.applied);
}

bool asks_for_holders(const MigProgress& progress) {
  const bool begins = progress.is_in(Phase::kChanging) && !progress.applied;
  return may_grow(progress.journal->phase) || drains(progress) || begins;
}

}  // namespace

MigObserver::MigObserver(Options options, const Ports& ports)
    : options_(std::move(options)),
      ports_(ports),
      holders_(ports_.holders),
      planner_(options_.config_file, ReadingMark(options_.state_dir / "layouts-being-read"),
               {.control = ports_.control,
                .holders = holders_,
                .clock = ports_.clock,
                .log = ports_.log}) {}

MigFacts MigObserver::observe(const MigProgress& progress, const MigLeaving& leaving,
                              const std::shared_ptr<const MigView>& view) {
  MigFacts facts{.now = ports_.clock.wall_now(), .boot = progress.boot};
  if (const auto* outcome = progress.of_wish()) facts.outcome = *outcome;
  facts.applied = progress.applied;
  look_at_node(progress, facts);
  planner_.look(progress, view, facts);
  if (progress.journal) look_at_change(progress, leaving, *view, facts);
  return facts;
}

void MigObserver::look_at_node(const MigProgress& progress, MigFacts& facts) const {
  const auto node = ports_.node();
  if (!node) return;
  facts.node_known = true;
  facts.label = cluster::value_of(node->labels, cluster::kMigConfigLabel);
  facts.state = cluster::value_of(node->labels, cluster::kMigStateLabel);
  facts.accepted =
      !facts.label.empty() &&
      cluster::value_of(node->annotations, cluster::kMigAcceptOutageAnnotation) == facts.label;
  if (progress.journal) facts.answer = answer_on(*node, progress.journal->id);
}

void MigObserver::look_at_change(const MigProgress& progress, const MigLeaving& leaving,
                                 const MigView& view, MigFacts& facts) {
  const auto& journal = *progress.journal;
  if (journal.phase == Phase::kFinished && journal.boot != progress.boot) {
    const auto& left = journal.trouble.empty() ? journal.to : journal.from;
    facts.set_by_others =
        set_by_others(left, layouts_of(read_states(ports_.control, left)), view.machine());
  }
  if (journal.phase == Phase::kVerifying) {
    facts.verified = verify(journal, leaving.neighbours, view, ports_.holders.kubelet);
  }
  if (journal.phase == Phase::kDraining) look_at_clients(facts);
  if (!asks_for_holders(progress)) return;
  const auto devices = leaving_devices(leaving.standing, view.machine());
  // In this order: first nothing more is given out, then the holders are read. Otherwise one could
  // be missed.
  facts.withheld = drains(progress) && holders_.are_withheld(devices);
  facts.holders = holders_.of(devices, MigHolders::kAge);
  facts.neighbours = describe(leaving.neighbours);
  note_pods(journal, facts.holders, leaving, view);
}

void MigObserver::look_at_clients(MigFacts& facts) {
  const auto node = ports_.node();
  const auto& read_pods = ports_.holders.pods;
  if (!read_pods || !node || !has_clients(*node)) return;
  const auto pods = read_pods();
  facts.clients.reset();
  if (!pods) return;
  const auto own = std::ranges::find(
      *pods, options_.own_pod, [](const cluster::Pod& pod) { return pod.ns + '/' + pod.name; });
  if (own != pods->end()) pods_.own = own->node_selector;
  facts.clients = clients_left(*pods, pods_.own);
}

void MigObserver::name_pods(const mig::Journal& journal, const MigLeaving& leaving,
                            const MigView& view) {
  if (named_ == journal.id) return;
  const auto devices = leaving_devices(leaving.standing, view.machine());
  note_pods(journal, holders_.of(devices, HolderAnswers::kNow), leaving, view);
}

void MigObserver::note_pods(const mig::Journal& journal,
                            const std::optional<std::vector<cluster::ObjectKey>>& holders,
                            const MigLeaving& leaving, const MigView& view) {
  named_ = journal.id;
  pods_.holders = holders.value_or(std::vector<cluster::ObjectKey>());
  std::erase_if(pods_.holders, [](const auto& pod) { return pod.name.empty(); });
  pods_.why.clear();
  if (!pods_.holders.empty()) pods_.why = holders_.why(leaving.standing, view.machine());
}

}  // namespace tranche::agent
