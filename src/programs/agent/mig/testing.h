#pragma once
// A node for tests of the manager: GPUs, kubelet, the Node, the agent's loop and the controller as
// values that a test sets. The manager can be killed and restarted with the same disk.

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "agent/mig/mig_manager.h"
#include "agent/mps/mps_standing.h"
#include "gpu/mig_tables.h"
#include "offer/make_offer.h"
#include "support/fake_clock.h"
#include "support/fake_mig_control.h"
#include "support/log_recorder.h"
#include "support/temp_dir.h"

namespace tranche::agent::mig_testing {

// A kubelet that has the last offer's list, unless a test says otherwise.
class Kubelet final : public cluster::PodResources {
 public:
  Result<cluster::ListedHolders> list() override {
    if (away) return fail(Code::kUnavailable, "no such socket");
    return cluster::ListedHolders{.devices = held};
  }
  Result<std::vector<cluster::HeldDevices>> remembered() override { return held; }
  Result<cluster::AllocatableDevices> allocatable() override {
    if (away) return fail(Code::kUnavailable, "no such socket");
    return listed;
  }
  void take(const offer::Offer& offer) {
    if (frozen) return;
    listed.clear();
    for (const auto& resource : offer.resources) {
      for (const auto& tranche : resource.tranches) {
        if (offer::is_healthy(resource, tranche)) listed[resource.name.value].insert(tranche.id);
      }
    }
  }

  bool away = false;
  bool frozen = false;  // it does not take new lists
  std::vector<cluster::HeldDevices> held;
  cluster::AllocatableDevices listed;
};

// A clock that can be set back, as when a machine learns the time.
class Clock final : public tranche::Clock {
 public:
  std::chrono::steady_clock::time_point now() const override { return clock_.now(); }
  std::chrono::system_clock::time_point wall_now() const override {
    return clock_.wall_now() - back_;
  }
  void advance(std::chrono::nanoseconds by) { clock_.advance(by); }
  void set_back(std::chrono::hours by) { back_ += by; }

 private:
  test::FakeClock clock_;
  std::chrono::hours back_{0};
};

class MigNode {
 public:
  enum class Claims { kKnown, kNotKnown };  // what is prepared

  explicit MigNode(const char* model, int gpus = 2, Claims claims = Claims::kKnown) {
    const auto* known = gpu::find_mig_model(model);
    machine_.driver_version = "570.158.01";
    for (int i = 0; i < gpus; ++i) {
      const bool ampere = known->mode_needs_reset.value_or(false);
      machine_.gpus.push_back({.index = i,
                               .uuid = uuid(i),
                               .name = std::string(known->product_names.front()),
                               .minor = i,
                               .pci = {.bus = static_cast<std::uint32_t>(i + 1)},
                               .memory = Bytes::from_mib(81920),
                               .compute_capability = {ampere ? 8 : 9, 0},
                               .mig_mode = gpu::MigMode::kDisabled,
                               .mig_geometry = known->geometry});
      control.add(uuid(i), {.pci = machine_.gpus.back().pci,
                            .geometry = known->geometry,
                            .mode_needs_reset = ampere});
    }
    config.flags.mig_strategy = config::MigStrategy::kMixed;
    node = cluster::Node{.name = "gpu-1", .resource_version = "1"};
    if (claims == Claims::kKnown) set_claims({});
    start();
  }

  // Sets the prepared claims, by the device that each holds.
  void set_claims(const std::map<std::string, cluster::ObjectKey>& held) {
    std::map<std::string, dra::PreparedClaim> all;
    for (const auto& [uuid, key] : held) {
      all[key.name] = {.ns = key.ns, .name = key.name, .uid = key.name, .boot = boot};
      all[key.name].devices = {{.request = "gpu", .pool = "p", .device = "gpu-0", .uuid = uuid}};
    }
    book.restore(all, machine());
  }

  static gpu::GpuUuid uuid(int i) { return {"GPU-" + std::to_string(i)}; }

  void start() {
    manager.reset();
    last_.reset();
    MigManager::Options options{.state_dir = dir.path(), .settings = settings};
    options.config_file = config_file;
    options.own_pod = "tranche/agent";
    options.retries = {.tries = 1, .wait = std::chrono::milliseconds(0)};
    manager.emplace(std::move(options),
                    MigManager::Ports{
                        .control = control,
                        .reset = reset,
                        .kubelet = kubelet,
                        .holders = holders,
                        .book = book,
                        .users_of_claim =
                            [](const cluster::ObjectKey& claim) -> std::vector<cluster::ObjectKey> {
                          return {{claim.ns, "pod-of-" + claim.name}};
                        },
                        .node = [this]() -> Result<cluster::Node> {
                          if (node_known) return *node;
                          return fail(Code::kUnavailable, "the API server has not answered yet");
                        },
                        .write = [this](const NodeWriter::Change& change,
                                        const cluster::Call&) { return write(change); },
                        .boot = [this] { return boot; },
                        .users = [this](const gpu::Gpu&, std::optional<int>) { return users; },
                        .quiet = [this](const MigQuiet& wish,
                                        const std::stop_token&) -> Result<std::shared_ptr<void>> {
                          asked.push_back(wish);
                          if (!quiet_trouble.empty()) return fail(Code::kTimeout, quiet_trouble);
                          return nullptr;
                        },
                        .pods = [this] { return pods; },
                        .read_hardware = [] {},
                        .look_again = [] {},
                        .renew_checkpoint = [] {},
                        .tell = [this](const NodeNotice& notice) { told.push_back(notice); },
                        .report = [this](const ConditionReport& report) { reported = report; },
                        .clock = clock,
                        .log = log.log()});
  }

  // One turn of the agent's loop, the controller and the manager. False: the agent was killed.
  bool turn() {
    loop();
    if (controller) controller(*this);
    try {
      manager->turn(stop.get_token());
      return true;
    } catch (const test::Killed&) {
      return false;
    }
  }

  // Turns until the state is neither empty nor pending, at most `most` times.
  std::string settle(int most = 60) {
    for (int i = 0; i < most; ++i) {
      if (!turn()) start();
      clock.advance(std::chrono::seconds(1));
      if (const auto said = state(); !said.empty() && said != "pending" && !open()) return said;
    }
    return state();
  }
  bool reach(mig::Journal::Phase phase) {
    for (int i = 0; i < 20; ++i) {
      if (now_in() == phase) return true;
      turn();
      clock.advance(std::chrono::milliseconds(100));
    }
    return false;
  }

  std::optional<mig::Journal::Phase> now_in() const {
    const auto journal = MigFiles(dir.path()).journal();
    return journal && *journal ? std::optional((*journal)->phase) : std::nullopt;
  }

  void loop() {
    State seen;
    seen.machine = machine();
    seen.config = config;
    seen.set(manager->standing(*seen.machine));
    seen.set(mps);
    auto offer = std::make_shared<const offer::Offer>(
        withhold_what_changes(seen, offer::make_offer(*seen.machine, config, {})));
    kubelet.take(*offer);
    book.follow(*offer, *seen.machine, true);
    if (last_ && *last_->offer == *offer && last_->state == seen) return;
    last_ = MigView{.state = seen, .offer = offer};
    manager->follow(*last_);
  }

  gpu::Machine machine() const {
    auto machine = machine_;
    for (auto& gpu : machine.gpus) {
      const auto state = control.state(gpu.uuid);
      gpu = with_layout(gpu, mig::layout_of(state));
      std::size_t device = 0;
      for (const auto& instance : state.instances) {
        for (const auto& compute : instance.compute) {
          auto& one = gpu.mig_instances[device++];
          one.gpu_instance_id = instance.id;
          one.uuid = {"MIG-" + std::to_string(gpu.index) + "-" + std::to_string(instance.id) + "-" +
                      std::to_string(compute.id)};
          one.gpu_instance_cap = one.compute_instance_cap = 1;
        }
      }
    }
    return machine;
  }

  void wish(const std::string& name) {
    node->labels[cluster::kMigConfigLabel] = name;
    changed();
  }
  void reboot() {
    boot += "'";
    control.reboot();
    kubelet.held.clear();
    start();
  }
  void hold(const std::string& pod, const std::string& id) {
    kubelet.held.push_back({.pod_namespace = "default",
                            .pod_name = pod,
                            .container = "c",
                            .resource = "nvidia.com/gpu",
                            .ids = {id}});
  }

  // Calls to the driver that change something.
  std::ptrdiff_t changes() const {
    const auto calls = control.calls();
    return std::ranges::count_if(calls,
                                 [](const std::string& call) { return !call.starts_with("read"); });
  }

  std::string log_text() const {
    std::string text;
    for (const auto& [level, line] : log.lines()) text += line + "\n";
    return text;
  }
  std::string state() const { return cluster::value_of(node->labels, cluster::kMigStateLabel); }
  bool open() const { return node->annotations.contains(cluster::kMigChangeAnnotation); }
  std::optional<cluster::MigChange> change() const {
    auto change = cluster::decode_mig_change(
        cluster::value_of(node->annotations, cluster::kMigChangeAnnotation));
    return change ? std::optional(*std::move(change)) : std::nullopt;
  }
  std::string summary(int i) const {
    const auto layout = mig::layout_of(control.state(uuid(i)));
    return mig::describe(layout, machine_.gpus[static_cast<std::size_t>(i)].mig_geometry);
  }
  void answer(const cluster::MigDrain& drain) {
    node->annotations[cluster::kMigDrainAnnotation] = cluster::encode(drain);
    changed();
  }
  void changed() { node->resource_version = std::to_string(++version_); }

  // A controller that accepts, cordons, evicts at once, and uncordons.
  static void drain(MigNode& self) {
    const auto change = self.change();
    if (!change) return;
    const bool draining = change->phase == cluster::MigPhase::kDraining;
    self.cordoned = change->phase != cluster::MigPhase::kFinished && (self.cordoned || draining);
    if (draining) self.kubelet.held.clear();
    self.answer({.id = change->id,
                 .cordoned = self.cordoned,
                 .uncordoned = change->phase == cluster::MigPhase::kFinished});
  }

  test::TempDir dir;
  Clock clock;
  test::LogRecorder log;
  test::FakeMigControl control;
  test::FakeGpuReset reset{control};
  Kubelet kubelet;
  HolderAnswers holders{kubelet, clock};
  mig::DeviceUsers users;
  std::optional<std::vector<cluster::Pod>> pods = std::vector<cluster::Pod>();
  Book book{clock};
  std::string quiet_trouble;  // why they do not release the GPUs
  // Another client's action just before a write.
  std::function<void(const NodeWriter::Change&)> before_write;
  struct Said {
    std::string label, state, layout;  // `layout`: what the first GPU had
  };
  std::vector<Said> sayings;  // after each write
  config::Config config;
  MpsStandings mps;
  std::vector<MigQuiet> asked;  // of this node's own programs
  MigSettings settings{.controller = false};
  std::string config_file;
  std::string boot = "boot";
  std::optional<cluster::Node> node;
  bool node_known = true;
  bool writable = true;
  bool cordoned = false;
  std::function<void(MigNode&)> controller;
  std::vector<NodeNotice> told;
  std::optional<ConditionReport> reported;
  std::stop_source stop;
  std::optional<MigManager> manager;

 private:
  bool write(const NodeWriter::Change& change) {
    if (!writable) return false;
    if (before_write) before_write(change);
    if (!change.resource_version.empty() && change.resource_version != node->resource_version) {
      return false;
    }
    put(change.labels, node->labels);
    put(change.annotations, node->annotations);
    changed();
    sayings.push_back({node->labels[cluster::kMigConfigLabel], state(), summary(0)});
    return true;
  }
  static void put(const NodeWriter::Values& values, cluster::StringMap& map) {
    for (const auto& [name, value] : values) {
      if (value) {
        map[name] = *value;
      } else {
        map.erase(name);
      }
    }
  }

  gpu::Machine machine_;
  std::optional<MigView> last_;
  int version_ = 1;
};

}  // namespace tranche::agent::mig_testing
