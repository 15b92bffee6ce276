// What MigManager finds out: the Node, the layout that is asked for, the hardware, and what kubelet
// says of it.

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "agent/mig/mig_manager.h"
#include "agent/serving/comparison.h"
#include "offer/make_offer.h"

namespace tranche::agent {
namespace {

// Kubelet is asked anew when what it told is older.
constexpr std::chrono::milliseconds kHoldersAge{150};

std::vector<gpu::GpuUuid> gpus_of(const mig::Layout& layout) {
  std::vector<gpu::GpuUuid> gpus;
  for (const auto& [uuid, ignored] : layout) gpus.push_back(uuid);
  return gpus;
}

bool all_present(const gpu::Machine& machine) {
  return std::ranges::all_of(machine.gpus, [](const gpu::Gpu& gpu) {
    return gpu.presence == gpu::Presence::kPresent && gpu.mig_refused.empty();
  });
}

std::map<std::string, std::int64_t> tranches_of(const offer::Offer& offer) {
  std::map<std::string, std::int64_t> counts;
  for (const auto& resource : offer.resources) {
    counts[resource.name.value] = static_cast<std::int64_t>(resource.tranches.size());
  }
  return counts;
}

mig::Journal journal_of(const MigPlan& plan) {
  mig::Journal journal;
  journal.from = plan.from;
  journal.to = plan.to;
  return journal;
}

bool is_on(const offer::ResourceOffer& resource, const mig::Layout& gpus) {
  return std::ranges::any_of(resource.devices, [&](const offer::Device& device) {
    return gpus.contains(gpu::GpuUuid{device.gpu_uuid});
  });
}

// Nameless while kubelet has not named the Pod.
cluster::MigHolder holder_of(const offer::Promise& promise) {
  const auto slash = promise.pod.find('/');
  if (slash == std::string::npos) return {};
  return {promise.pod.substr(0, slash), promise.pod.substr(slash + 1)};
}

}  // namespace

MigFacts MigManager::gather() {
  MigFacts facts{.now = ports_.clock.wall_now(), .boot = boot_};
  facts.outcome = outcome_;
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
  return facts;
}

void MigManager::gather_wish(MigFacts& facts) {
  if (!facts.node_known) return;
  if (facts.label.empty()) {
    facts.wish = "";
    return;
  }
  const auto view = this->view();
  if (view == nullptr || !all_present(*view->state.machine)) return;
  std::optional<std::string> text;
  if (!options_.config_file.empty()) {
    auto read = FsRoot().read(options_.config_file);
    if (!read) {
      if (said_.is_news("file", read.error().what)) {
        ports_.log.warn(
            std::move(read).error().with_context("the file of MIG layouts cannot be read"));
      }
      return;
    }
    said_.forget("file");
    text = *std::move(read);
  }
  const auto wish = read_wish(facts.label, text, options_.config_file, *view->state.machine);
  facts.wish = wish.key;
  if (!journal_) gather_plan(facts, wish);
}

// The hardware is read once for each wish and each reading of the agent's loop.
void MigManager::gather_plan(MigFacts& facts, const MigWish& wish) {
  const auto view = this->view();
  if (!planned_ || planned_->wish != wish.key || planned_->view != view) {
    planned_.reset();
    auto made = plan(wish, *view->state.machine);
    if (!made) return;
    planned_.emplace(Planned{wish.key, view, *std::move(made)});
  }
  facts.plan = planned_->plan;
  const bool rebooted = outcome_ && outcome_->boot != boot_;
  if (!rebooted || !*facts.plan || (*facts.plan)->empty()) return;
  const auto journal = journal_of(**facts.plan);
  const auto standing = changing(journal, read_states(journal.to));
  facts.holders = holders_of(leaving_devices(standing, *view->state.machine), kHoldersAge);
}

std::optional<Result<MigPlan>> MigManager::plan(const MigWish& wish, const gpu::Machine& machine) {
  if (!wish.gpus) return Result<MigPlan>(std::unexpected(wish.gpus.error()));
  MigStates states;
  mig::Layout present;
  for (const auto& [uuid, ignored] : *wish.gpus) {
    auto state = ports_.control.read(uuid);
    if (!state) {
      if (said_.is_news("layout", state.error().what)) ports_.log.warn(state.error());
      return std::nullopt;
    }
    present.emplace(uuid, mig::layout_of(*state));
    states.emplace(uuid, *std::move(state));
  }
  said_.forget("layout");
  return make_plan(*wish.gpus, present, machine, held_instances(states, machine));
}

void MigManager::gather_change(MigFacts& facts) {
  const auto view = this->view();
  if (view == nullptr) return;
  if (journal_->phase == Phase::kVerifying) facts.verified = verify();
  const bool drains =
      journal_->phase == Phase::kDraining || (journal_->phase == Phase::kUndoing && !applied_);
  if (!drains && journal_->phase != Phase::kAsking) return;
  const auto devices = leaving_devices(leaving_, *view->state.machine);
  // First that no more is given out, then who holds some: the other way round, one could slip by.
  facts.withheld = drains && let_go(devices);
  facts.holders = holders_of(devices, kHoldersAge);
  name_pods(facts.holders);
}

// The controller is told of those whose Pod is known.
void MigManager::name_pods(const std::optional<std::vector<cluster::MigHolder>>& holders) {
  pods_.clear();
  for (const auto& pod : holders.value_or(std::vector<cluster::MigHolder>())) {
    if (!pod.name.empty()) pods_.push_back(pod);
  }
}

// A GPU that cannot be read lacks.
MigStates MigManager::read_states(const mig::Layout& of) const {
  MigStates states;
  for (const auto& uuid : gpus_of(of)) {
    if (auto state = ports_.control.read(uuid)) states.emplace(uuid, *std::move(state));
  }
  return states;
}

HeldInstances MigManager::held_instances(const MigStates& states,
                                         const gpu::Machine& machine) const {
  HeldInstances held;
  const auto answer = ports_.holders.get(kHoldersAge);
  if (!answer) return held;
  for (const auto& [uuid, state] : states) {
    const auto* gpu = gpu::find_gpu(machine, uuid);
    if (gpu == nullptr) continue;
    const auto layout = mig::layout_of(state);
    for (const auto& device : gpu->mig_instances) {
      if (holding((*answer)->listed, {device.uuid.value}).empty()) continue;
      const auto found =
          std::ranges::find(state.instances, device.gpu_instance_id, &gpu::GpuInstance::id);
      if (found == state.instances.end()) continue;
      held[uuid].push_back(
          layout.instances[static_cast<std::size_t>(found - state.instances.begin())]);
    }
  }
  return held;
}

std::optional<std::vector<cluster::MigHolder>> MigManager::holders_of(
    const std::set<std::string>& devices, std::chrono::milliseconds age) {
  const auto answer = ports_.holders.get(age);
  if (!answer || !(*answer)->remembered) return std::nullopt;
  std::set<cluster::MigHolder> pods;
  for (const auto& one : holding((*answer)->listed, devices)) {
    pods.insert({one.pod_namespace, one.pod_name});
  }
  // Kubelet's checkpoint may be older than what it tells. It writes it anew when a list is sent.
  if (pods.empty() && !holding(*(*answer)->remembered, devices).empty()) {
    pods.insert(cluster::MigHolder{});
    ports_.renew_checkpoint();
  }
  for (const auto& promise : ports_.promised(**answer)) {
    if (devices.contains(std::string(offer::device_uuid_of(promise.id)))) {
      pods.insert(holder_of(promise));
    }
  }
  return std::vector(pods.begin(), pods.end());
}

bool MigManager::let_go(const std::set<std::string>& devices) const {
  const auto given = ports_.kubelet.allocatable();
  // A kubelet that is too old to tell has the list that was sent to it last.
  if (!given) return given.error().code == Code::kFailedPrecondition;
  return std::ranges::none_of(*given, [&](const auto& entry) {
    return std::ranges::any_of(entry.second, [&](const std::string& id) {
      return devices.contains(std::string(offer::device_uuid_of(id)));
    });
  });
}

Result<void> MigManager::verify() const {
  const auto view = this->view();
  for (const auto& [uuid, layout] : journal_->to) {
    const auto* gpu = gpu::find_gpu(*view->state.machine, uuid);
    if (gpu == nullptr || !shows(*gpu, layout)) {
      return fail(Code::kFailedPrecondition,
                  fmt::format("the driver does not list the new devices of GPU {}", uuid.value));
    }
    if (view->state.mig.changing.contains(uuid.value)) {
      return fail(Code::kFailedPrecondition, "the new devices are not advertised");
    }
  }
  const auto given = ports_.kubelet.allocatable();
  if (!given && given.error().code == Code::kFailedPrecondition) return {};
  if (!given) return fail(Code::kUnavailable, given.error().what, given.error().hint);
  for (const auto& [name, served] : compare(ids_of(*view->offer), *given)) {
    const auto* resource = view->offer->find({name});
    if (resource == nullptr || !is_on(*resource, journal_->to)) continue;
    if (served.served == Served::kOurs) continue;
    return fail(Code::kFailedPrecondition,
                fmt::format("kubelet offers {} of {}, not the {} that there are", served.ids.size(),
                            name, served.ours));
  }
  return {};
}

void MigManager::set_journal(std::optional<mig::Journal> journal) {
  const bool fresh = journal && (!journal_ || journal_->id != journal->id);
  if (!journal || !journal_ || journal_->phase != journal->phase) applied_.reset();
  journal_ = std::move(journal);
  if (fresh) {
    leaving_ = changing(*journal_, read_states(journal_->to));
    count_tranches();
    // The first text names them: what the controller announces is made of it.
    if (const auto view = this->view()) {
      name_pods(holders_of(leaving_devices(leaving_, *view->state.machine), HolderAnswers::kNow));
    }
  }
  if (!journal_) {
    leaving_ = {};
    pods_.clear();
  }
  serve();
}

// What the loop is to withhold from now on.
void MigManager::serve() {
  MigStanding standing;
  std::optional<mig::Layout> awaited;
  if (journal_ && journal_->phase != Phase::kAsking) {
    standing = leaving_.changing.empty() ? changing(*journal_, {}) : leaving_;
    const bool back = !journal_->trouble.empty();
    const bool settled =
        journal_->phase == Phase::kVerifying || journal_->phase == Phase::kFinished;
    if (settled) awaited = back ? journal_->from : journal_->to;
  }
  bool news = false;
  {
    const std::scoped_lock lock(mutex_);
    news = standing != standing_ || awaited != awaited_;
    standing_ = std::move(standing);
    awaited_ = std::move(awaited);
    remark_ = journal_ ? fmt::format("MIG layout {}: {}", journal_->layout,
                                     mig::to_string(journal_->phase))
                       : "";
  }
  if (news && restored_) ports_.look_again();
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

MigStanding MigManager::standing(const gpu::Machine& machine) const {
  const std::scoped_lock lock(mutex_);
  auto standing = standing_;
  if (!awaited_) return standing;
  for (const auto& [uuid, layout] : *awaited_) {
    const auto* gpu = gpu::find_gpu(machine, uuid);
    if (gpu != nullptr && shows(*gpu, layout)) standing.changing.erase(uuid.value);
  }
  return standing;
}

// Tranches by resource before and after, as the configuration would have them.
void MigManager::count_tranches() {
  before_.clear();
  after_.clear();
  const auto view = this->view();
  if (view == nullptr) return;
  auto before = *view->state.machine;
  auto after = before;
  for (auto* machine : {&before, &after}) {
    const auto& layouts = machine == &before ? journal_->from : journal_->to;
    for (auto& gpu : machine->gpus) {
      const auto found = layouts.find(gpu.uuid);
      if (found != layouts.end()) gpu = with_layout(std::move(gpu), found->second);
    }
  }
  const auto& config = view->state.config;
  if (const auto offer = offer::make_offer(before, config, {})) before_ = tranches_of(*offer);
  if (const auto offer = offer::make_offer(after, config, {})) after_ = tranches_of(*offer);
}

}  // namespace tranche::agent
