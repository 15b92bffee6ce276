// What MigManager finds out: the Node, the layout that is asked for, the hardware, and whether
// kubelet offers the new one.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "agent/mig/mig_beside.h"
#include "agent/mig/mig_manager.h"
#include "agent/mps/mps_standing.h"
#include "agent/plugins/comparison.h"
#include "offer/make_offer.h"

namespace tranche::agent {
namespace {

// The wish while the file cannot be read; others are checksums.
constexpr const char* kUnreadable = "unreadable";

std::vector<gpu::GpuUuid> gpus_of(const mig::Layout& layout) {
  std::vector<gpu::GpuUuid> gpus;
  for (const auto& [uuid, ignored] : layout) gpus.push_back(uuid);
  return gpus;
}

bool answers(const gpu::Gpu& gpu) {
  return gpu.presence == gpu::Presence::kPresent && gpu.mig_refused.empty() &&
         gpu.mig_unread.empty();
}

mig::Journal journal_of(const MigPlan& plan) {
  mig::Journal journal;
  journal.from = plan.from;
  journal.to = plan.to;
  return journal;
}

// Strategy single cannot advertise every layout.
Result<void> check_offer(const gpu::Machine& machine, const config::Config& config) {
  const auto offer = offer::make_offer(machine, config, {});
  if (!offer.resources.empty() || offer.withheld.empty()) return {};
  return fail(Code::kFailedPrecondition,
              fmt::format("with this layout nothing could be advertised: {}",
                          offer.withheld.front().reason));
}

bool is_on(const offer::ResourceOffer& resource, const mig::Layout& gpus) {
  return std::ranges::any_of(resource.devices, [&](const offer::Device& device) {
    return gpus.contains(gpu::GpuUuid{device.gpu_uuid});
  });
}

}  // namespace

MigFacts MigManager::gather() {
  MigFacts facts{.now = ports_.clock.wall_now(), .boot = boot_};
  if (const auto* outcome = this->outcome()) facts.outcome = *outcome;
  facts.applied = applied_;
  if (const auto node = ports_.node()) {
    facts.node_known = true;
    facts.label = cluster::value_of(node->labels, cluster::kMigConfigLabel);
    facts.state = cluster::value_of(node->labels, cluster::kMigStateLabel);
    facts.accepted =
        !facts.label.empty() &&
        cluster::value_of(node->annotations, cluster::kMigAcceptOutageAnnotation) == facts.label;
    if (journal_) facts.answer = answer_on(*node, journal_->id);
  }
  gather_wish(facts);
  if (journal_) gather_change(facts);
  note_wait(facts);
  return facts;
}

void MigManager::gather_clients(MigFacts& facts) {
  const auto node = ports_.node();
  if (!ports_.pods || !node || !has_clients(*node)) return;
  const auto pods = ports_.pods();
  facts.clients.reset();
  if (!pods) return;
  const auto own = std::ranges::find(
      *pods, options_.own_pod, [](const cluster::Pod& pod) { return pod.ns + '/' + pod.name; });
  if (own != pods->end()) own_selector_ = own->node_selector;
  facts.clients = clients_left(*pods, own_selector_);
}

// What people are told beside the Pods that hold a device.
void MigManager::note_wait(const MigFacts& facts) {
  std::string now;
  if (journal_ && journal_->phase == Phase::kDraining && facts.clients && !facts.clients->empty()) {
    now = fmt::format("Pods of NVIDIA's clients end first: {}", fmt::join(*facts.clients, ", "));
  }
  const bool on_hardware = journal_ && is_on_hardware(journal_->phase);
  if (on_hardware && applied_ && !*applied_) now = applied_->error().what;
  // It is tried again just now.
  if (on_hardware && !applied_) now = waits_for_;
  if (now == waits_for_) return;
  if (!now.empty()) {
    ports_.log.info(fmt::format("MIG layout {} waits: {}", journal_->layout, now));
  }
  waits_for_ = std::move(now);
  const std::scoped_lock lock(mutex_);
  remark_ = remark_text();
}

void MigManager::gather_wish(MigFacts& facts) {
  if (!facts.node_known) return;
  if (facts.label.empty()) {
    facts.wish = "";
    return;
  }
  const auto view = this->view();
  if (view == nullptr || !all_answer(*view->state.machine)) return;
  std::optional<std::string> text;
  if (!options_.config_file.empty()) {
    auto read = FsRoot().read(options_.config_file);
    if (!read) return gather_without_file(std::move(read).error(), facts);
    text = *std::move(read);
  }
  const auto wish = read_wish(facts.label, text, options_.config_file, *view->state.machine);
  // A file that is being edited takes no layout out of force, and ends no change.
  const bool known = journal_ || (outcome() != nullptr && outcome()->label == facts.label);
  if (!wish.is_file_read && known) return gather_without_file(wish.gpus.error(), facts);
  said_.forget("file");
  const auto warnings = fmt::format("{}", fmt::join(wish.warnings, "\n"));
  if (said_.is_news("layouts", warnings)) {
    for (const auto& warning : wish.warnings) ports_.log.warn(warning);
  }
  facts.wish = wish.key;
  if (!journal_) gather_plan(facts, wish);
}

// A layout is of all GPUs that it names, and what one has that does not answer is not known.
bool MigManager::all_answer(const gpu::Machine& machine) {
  const auto silent = std::ranges::find_if_not(machine.gpus, answers);
  if (silent == machine.gpus.end()) {
    said_.forget("gpus");
    return true;
  }
  auto text = fmt::format("no MIG layout is looked at while GPU {} does not answer", silent->index);
  if (said_.is_news("gpus", text)) ports_.log.warn(text);
  return false;
}

// What is in force, or failed, stays so. A label of which nothing is known yet is answered: who set
// it waits. With the file it is another wish.
void MigManager::gather_without_file(Error error, MigFacts& facts) {
  const bool is_news = said_.is_news("file", error.what);
  auto refusal = std::move(error).with_context("the file of MIG layouts cannot be read");
  if (is_news) ports_.log.warn(refusal);
  if (journal_ || (outcome_ && outcome_->label == facts.label)) return;
  facts.wish = kUnreadable;
  facts.plan = std::unexpected(std::move(refusal));
}

// The hardware is read for each wish and each reading of the agent's loop, and now and then.
bool MigManager::is_planned(const MigWish& wish) {
  if (!planned_ || planned_->wish != wish.key || planned_->view != view()) return false;
  if (ports_.clock.now() < planned_->read + kModesAge) return true;
  planned_->read = ports_.clock.now();
  return std::ranges::all_of(planned_->states, [&](const auto& known) {
    const auto state = ports_.control.read(known.first);
    return !state || *state == known.second;
  });
}

void MigManager::gather_plan(MigFacts& facts, const MigWish& wish) {
  const auto view = this->view();
  if (!is_planned(wish)) {
    planned_.reset();
    MigStates states;
    auto made = plan(wish, *view->state.machine, states);
    if (!made) return;
    planned_.emplace(
        Planned{wish.key, view, *std::move(made), std::move(states), ports_.clock.now()});
  }
  facts.plan = planned_->plan;
  gather_modes(facts);
  gather_lost(facts);
  const bool rebooted = outcome() != nullptr && !outcome()->failed() && outcome()->boot != boot_;
  if (rebooted && *facts.plan && !(*facts.plan)->empty()) gather_holders(facts, **facts.plan);
}

// Who holds what would leave service.
void MigManager::gather_holders(MigFacts& facts, const MigPlan& plan) {
  const auto view = this->view();
  const auto journal = journal_of(plan);
  auto standing = changing(journal, read_states(journal.to));
  standing.beside = beside(journal, *view->state.machine, view->state.config).gpus;
  facts.holders = holders_of(leaving_devices(standing, *view->state.machine), kHoldersAge);
}

std::optional<Result<MigPlan>> MigManager::plan(const MigWish& wish, const gpu::Machine& machine,
                                                MigStates& states) {
  if (!wish.gpus) return Result<MigPlan>(std::unexpected(wish.gpus.error()));
  for (const auto& [uuid, ignored] : *wish.gpus) {
    auto state = ports_.control.read(uuid);
    if (!state) {
      if (said_.is_news("layout", state.error().what)) ports_.log.warn(state.error());
      return std::nullopt;
    }
    states.emplace(uuid, *std::move(state));
  }
  said_.forget("layout");
  auto plan = make_plan(*wish.gpus, layouts_of(states), machine, held_instances(states, machine));
  if (plan && !plan->empty()) {
    if (auto shown = check_offer(with_layouts(machine, plan->to), view()->state.config); !shown) {
      plan = std::unexpected(std::move(shown).error());
    }
  }
  return plan;
}

void MigManager::gather_change(MigFacts& facts) {
  const auto view = this->view();
  if (view == nullptr) return;
  if (journal_->phase == Phase::kFinished && journal_->boot != boot_) {
    const auto& left = journal_->trouble.empty() ? journal_->to : journal_->from;
    note_set_by_others(left, layouts_of(read_states(left)), facts);
  }
  if (journal_->phase == Phase::kVerifying) facts.verified = verify();
  if (journal_->phase == Phase::kDraining) gather_clients(facts);
  const bool drains =
      journal_->phase == Phase::kDraining || (journal_->phase == Phase::kUndoing && !applied_);
  const bool begins = journal_->phase == Phase::kChanging && !applied_;
  const bool may_grow = journal_->phase == Phase::kAsking || journal_->phase == Phase::kDraining;
  if (!drains && !begins && !may_grow) return;
  if (may_grow) {
    look_beside();
    serve();
  }
  const auto devices = leaving_devices(leaving_, *view->state.machine);
  // First that no more is given out, then who holds some: the other way round, one could slip by.
  facts.withheld = drains && let_go(devices);
  facts.holders = holders_of(devices, kHoldersAge);
  facts.beside = describe(beside_);
  name_pods(facts.holders);
}

// A GPU that cannot be read lacks.
MigStates MigManager::read_states(const mig::Layout& of) const {
  MigStates states;
  for (const auto& uuid : gpus_of(of)) {
    if (auto state = ports_.control.read(uuid)) states.emplace(uuid, *std::move(state));
  }
  return states;
}

// A supervisor that comes back starts the daemons, so it is waited for as a kubelet that is away
// is.
Result<void> MigManager::verify_mps() const {
  const auto view = this->view();
  const auto& standings = view->state.get<MpsStandings>();
  for (const auto& resource : beside_.served_after) {
    const auto found = standings.find({resource});
    if (found == standings.end() || found->second.trouble.empty()) continue;
    return fail(Code::kUnavailable,
                fmt::format("{} is not served by MPS again: {}", resource, found->second.trouble),
                std::string(kMpsRemedy));
  }
  return {};
}

Result<void> MigManager::verify() const {
  const auto view = this->view();
  for (const auto& [uuid, layout] : journal_->to) {
    const auto* gpu = gpu::find_gpu(*view->state.machine, uuid);
    if (gpu == nullptr || !shows(*gpu, layout)) {
      return fail(Code::kFailedPrecondition,
                  fmt::format("the driver does not list the new devices of GPU {}", uuid.value));
    }
    if (view->state.get<MigStanding>().changing.contains(uuid.value)) {
      return fail(Code::kFailedPrecondition, "the new devices are not advertised");
    }
  }
  TRY(verify_mps());
  const auto given = ports_.kubelet.allocatable();
  if (!given && given.error().code == Code::kFailedPrecondition) return {};
  if (!given) return fail(Code::kUnavailable, given.error().what, given.error().hint);
  for (const auto& [name, served] : compare(ids_of(*view->offer), *given)) {
    const auto* resource = view->offer->find({name});
    if (resource == nullptr) continue;
    if (!is_on(*resource, journal_->to) && !beside_.resources.contains(name)) continue;
    if (served.served == Served::kOurs) continue;
    return fail(Code::kFailedPrecondition,
                fmt::format("kubelet offers {} of {}, not the {} that there are", served.ids.size(),
                            name, served.ours));
  }
  return {};
}

}  // namespace tranche::agent
