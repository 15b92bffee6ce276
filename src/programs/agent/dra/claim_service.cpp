#include "agent/dra/claim_service.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "agent/config/mode_standing.h"
#include "agent/dra/claim_mps.h"
#include "agent/dra/claim_pool.h"
#include "agent/dra/claim_stage.h"
#include "agent/dra/claim_tenants.h"
#include "agent/dra/drain_condition.h"
#include "agent/hardware/leaving.h"
#include "agent/mps/mps_standing.h"
#include "base/checksum.h"
#include "base/dra_driver.h"
#include "cluster/kinds.h"
#include "cluster/resource_claim.h"
#include "dra/names.h"
#include "gpu/sysfs.h"

namespace tranche::agent {
namespace {

constexpr const char* kStartKey = "start";
constexpr const char* kCutsKey = "cuts";
constexpr const char* kSweepKey = "sweep";
constexpr const char* kDrainKey = "drain";
// The resource whose rules apply to a whole GPU, as with the device plugin.
const config::ResourceName kWhole{"nvidia.com/gpu"};
constexpr std::chrono::seconds kLookAtServer{5};
constexpr std::chrono::seconds kLongestAsking{5};

// All sockets are in the folder of the driver's present name, which is mounted here: kubelet calls
// whatever path it is told. A path of a socket is short, so another name's is a checksum.
dra::Server::Options server_options(const config::AgentOptions& options,
                                    const std::string& driver) {
  // During a handover two agents serve, so the sockets' names have the Pod's uid.
  const auto instance = options.pod_uid.empty() ? std::string() : '-' + options.pod_uid;
  const auto socket = driver == options.dra_driver_name
                          ? fmt::format("dra{}.sock", instance)
                          : fmt::format("{:016x}{}.sock", checksum(driver), instance);
  return {.driver = driver,
          .socket = std::filesystem::path(options.kubelet_plugins_dir()) / options.dra_driver_name /
                    socket,
          .registration = std::filesystem::path(options.kubelet_registrar_dir()) /
                          fmt::format("{}{}-reg.sock", driver, instance)};
}

std::map<gpu::PciAddress, std::string> pcie_roots(const FsRoot& host, const gpu::Machine& machine) {
  std::map<gpu::PciAddress, std::string> roots;
  for (const auto& gpu : machine.gpus) {
    const auto link = host.read_link(gpu::pci_device_path(gpu.pci));
    if (!link) continue;
    if (auto root = gpu::parse_pcie_root(*link)) roots.emplace(gpu.pci, *std::move(root));
  }
  return roots;
}

std::set<gpu::MigUuid> instances_of(const gpu::Machine& machine) {
  std::set<gpu::MigUuid> all;
  for (const auto& gpu : machine.gpus) {
    for (const auto& instance : gpu.mig_instances) all.insert(instance.uuid);
  }
  return all;
}

std::map<std::string, offer::MpsService> services_of(const State& state) {
  std::map<std::string, offer::MpsService> services;
  for (const auto& [resource, standing] : state.get<MpsStandings>()) {
    services.emplace(resource.value, standing.service);
  }
  return services;
}

bool takes_claims(const State& state) {
  const auto& node = state.get<NodeModeStanding>();
  return !node.undecided && node.mode == cluster::NodeMode::kDra;
}

// Whether the files of prepared claims would have the same content.
bool makes_the_same(const ClaimNode& a, const ClaimNode& b) {
  return a.files == b.files && a.limits == b.limits && a.options == b.options &&
         a.enforcers == b.enforcers && a.hook == b.hook && a.mps == b.mps &&
         a.mps_root == b.mps_root;
}

}  // namespace

ClaimService::ClaimService(const config::AgentOptions& options, Ports ports)
    : options_(options),
      ports_(std::move(ports)),
      host_(options.host_root),
      names_{.driver = options.dra_driver_name, .node = options.node_name},
      pool_(dra::pool_name(names_.node, names_.driver)),
      store_(std::filesystem::path(options.state_dir) / "claims", ports_.log),
      cuts_(ports_.instances != nullptr && ports_.objects != nullptr),
      preparer_(preparer_ports()),
      ill_(options.dra_evict_after),
      drain_({.preparer = preparer_,
              .start =
                  [this](const std::string& name, dra::Driver& driver,
                         const dra::HealthBoard& health) {
                    return start_server(name, driver, health);
                  },
              .clock = ports_.clock,
              .log = ports_.log}),
      starter_(std::in_place, ports_.log) {
  rests_empty();  // then nothing is withheld from the first offer on
  if (!serves()) return;
  sweep_.emplace(ClaimSweep::Ports{
      .objects = *ports_.objects,
      .kubelet = ports_.kubelet,
      .book = ports_.book,
      .undo = [this](const dra::ClaimName& claim) { return preparer_.unprepare(claim); },
      .log = ports_.log});
  publisher_.emplace(SlicePublisher::Ports{.objects = *ports_.objects,
                                           .names = names_,
                                           .owner = [this]() -> Result<cluster::OwnerReference> {
                                             ASSIGN_OR_RETURN(const auto node, ports_.node());
                                             return cluster::OwnerReference{"v1", "Node", node.name,
                                                                            node.uid, true};
                                           },
                                           .dropped =
                                               [this](dra::Dropped dropped) {
                                                 {
                                                   const std::scoped_lock lock(mutex_);
                                                   dropped_ = dropped;
                                                 }
                                                 ports_.look_again();
                                               },
                                           .log = ports_.log});
  status_writer_.emplace(ClaimStatusWriter::Ports{.objects = *ports_.objects,
                                                  .driver = names_.driver,
                                                  .clock = ports_.clock,
                                                  .log = ports_.log});
  classes_.emplace(*ports_.objects, ports_.look_again, Backoff{}, ports_.log);
}

ClaimPreparer::Ports ClaimService::preparer_ports() {
  return {.objects = ports_.objects,
          .kubelet = ports_.kubelet,
          .store = store_,
          .book = ports_.book,
          .node =
              [this] {
                const std::scoped_lock lock(mutex_);
                return node_;
              },
          .listed =
              [this] {
                const std::scoped_lock lock(mutex_);
                return listed_;
              },
          .make = {.add_tenant = ports_.add_tenant,
                   .remove_tenant = ports_.remove_tenant,
                   .instances = ports_.instances.get(),
                   .cdi_root = options_.cdi_root,
                   .work = serves() ? ClaimMaker::Ports::Work::kMakes
                                    : ClaimMaker::Ports::Work::kUndoes,
                   .log = ports_.log},
          .pod = ports_.pod,
          .changed = ports_.look_again,
          .log = ports_.log};
}

// The mode applies to new claims before the offer is made with it.
ClaimStanding ClaimService::standing(const State& state, const offer::Offer& wished) {
  const auto& machine = *state.machine;
  const bool takes = takes_claims(state);
  ClaimStanding standing{.pcie_roots = pcie_roots(host_, machine),
                         .cut = cuts_.cut(machine, ports_.node()),
                         .gates_off = gates_off(takes)};
  ports_.book.open(takes);
  standing.enforcers = offer::claim_enforcers(state.config.tranche.limits, machine, wished);
  standing.held = claims_at_odds(ports_.book, takes, standing.enforcers);
  if (!serves()) return standing;
  look_at_limits(standing);
  keep_mps_gpus_whole(standing);
  return standing;
}

void ClaimService::keep_mps_gpus_whole(ClaimStanding& standing) {
  if (!standing.cut) return;
  const auto by_mps = mps_resources(standing.enforcers);
  std::erase_if(*standing.cut, [&](const auto& gpu) { return by_mps.contains(gpu.value); });
}

void ClaimService::look_at_limits(ClaimStanding& standing) const {
  auto mounts = ports_.mounts();
  if (!mounts) {
    standing.no_limits = mounts.error().message();
    return;
  }
  auto hook = ports_.hook(standing.enforcers.wants_hook());
  if (!hook) {
    standing.no_limits =
        std::move(hook).error().with_context("the runtime's hook cannot be given").message();
    return;
  }
  standing.mounts = *std::move(mounts);
  standing.hook = *std::move(hook);
}

// Without claims on a node, plain Pods get no GPU through a DeviceClass.
std::string ClaimService::gates_off(bool takes) const {
  auto dropped = made_of_now().dropped;
  dropped.names = takes && classes_->names_are_dropped();
  dropped.health = takes && health_.goes_unasked(ports_.clock.now());
  return describe(dropped);
}

void ClaimService::follow(const Round& round) {
  state_ = round.state;
  ill_.see(state_->health, ports_.clock.now());
  take_node(round);
  made_of_.reset();
  publish(ports_.clock.now());
}

ClaimNode ClaimService::make_node(const State& state, CdiInputs inputs) const {
  const auto& standing = state.get<ClaimStanding>();
  return {.machine = *state.machine,
          .files = std::move(inputs.files),
          .options = std::move(inputs.options),
          .limits = standing.mounts,
          .leaving = leaving_devices(state.get<MigStanding>(), *state.machine),
          .facts = {.driver = names_.driver,
                    .node = names_.node,
                    .pool = pool_,
                    .former_pool = dra::pool_name(names_.node, kDefaultDraDriver),
                    .boot = ports_.boot,
                    .no_limits = standing.no_limits,
                    .partitionable = standing.cut.value_or(std::set<gpu::GpuUuid>()),
                    .mps = mps_resources(standing.enforcers),
                    .mps_troubles = mps_troubles(state),
                    .of_whole = state.config.tranche.limits.of(kWhole).enforcement},
          .enforcers = standing.enforcers,
          .mps = services_of(state),
          .mps_root = state.config.flags.mps_root,
          .hook = standing.hook};
}

// Writes the files of prepared claims again where their content has changed.
void ClaimService::take_node(const Round& round) {
  // Without new claims no file is made, and what they are made of is not mounted here.
  auto inputs = serves() ? cdi_inputs(round.state, options_) : Result<CdiInputs>(CdiInputs());
  bool anew = false;
  bool other_instances = false;
  {
    const std::scoped_lock lock(mutex_);
    no_node_ = inputs ? std::string() : inputs.error().message();
    if (!inputs) return;
    const auto before = std::exchange(
        node_, std::make_shared<const ClaimNode>(make_node(round.state, *std::move(inputs))));
    anew = before == nullptr || !makes_the_same(*before, *node_);
    other_instances =
        before == nullptr || instances_of(before->machine) != instances_of(node_->machine);
  }
  if (ports_.instances != nullptr && other_instances) ask_for_cuts();
  if (anew) look_at_store();
}

void ClaimService::look_at_store() {
  starter_->request({.key = kStartKey,
                     .attempt = [this](const std::stop_token&) { return start(); },
                     .done = {},
                     .aim = kStartKey});
}

void ClaimService::ask_for_cuts() {
  starter_->request({.key = kCutsKey,
                     .attempt = [this](const std::stop_token&) { return look_for_cuts(); },
                     .done = {},
                     .aim = kCutsKey});
}

// Only on the starter's thread.
Result<void> ClaimService::look_for_cuts() {
  ASSIGN_OR_RETURN(auto by_others, preparer_.cut_by_others());
  for (const auto& gpu : by_others) {
    ports_.log.debug(fmt::format("{} has MIG instances that no claim has: they stay", gpu.value));
  }
  if (cuts_.found(std::move(by_others))) ports_.look_again();
  return {};
}

// Whether there is nothing to do: no claim is taken, and none was. No file is made then.
bool ClaimService::rests_empty() {
  if (serves() || !store_.is_empty()) return false;
  ports_.book.restore({}, {});
  return true;
}

// Only on the starter's thread. What is prepared must be known before kubelet calls.
Result<void> ClaimService::start() {
  if (rests_empty()) return {};
  TRY(preparer_.restore());
  return serves() ? serve() : Result<void>();
}

Result<void> ClaimService::serve() {
  std::unique_ptr<dra::Server> before;
  {
    const std::scoped_lock lock(mutex_);
    if (server_ != nullptr && server_->intact()) return {};
    before = std::move(server_);
  }
  // Ends its calls, which take the mutex.
  before.reset();
  ASSIGN_OR_RETURN(auto server, start_server(names_.driver, preparer_, health_));
  const std::scoped_lock lock(mutex_);
  server_ = std::move(server);
  return {};
}

Result<std::unique_ptr<dra::Server>> ClaimService::start_server(const std::string& name,
                                                                dra::Driver& driver,
                                                                const dra::HealthBoard& health) {
  return dra::Server::start(
      server_options(options_, name), driver, health,
      [this, name](const Result<void>& answer) { registered(name, answer); }, ports_.log);
}

void ClaimService::registered(const std::string& name, const Result<void>& answer) {
  {
    const std::scoped_lock lock(mutex_);
    refused_ = answer ? std::string() : answer.error().message();
  }
  if (answer) {
    health_.note_taken(ports_.clock.now());
    ports_.log.info(fmt::format("kubelet knows this driver of claims: {}", name));
  } else {
    ports_.log.error(answer.error());
  }
}

ClaimService::MadeOf ClaimService::made_of_now() const {
  const std::scoped_lock lock(mutex_);
  return {.book = ports_.book.version(), .dropped = dropped_};
}

// Called at every turn of the loop; makes a pool when it may differ. A mere reordering of devices
// may be delayed; nothing else may.
void ClaimService::publish(TimePoint now) {
  if (!publisher_ || !state_ || !ports_.book.restored() || !state_->get<ClaimStanding>().cut)
    return;
  const auto made_of = made_of_now();
  if (made_of_ == made_of && (!next_ || now < *next_)) return;
  made_of_ = made_of;
  const PoolWish wish{.prepared = ports_.book.claims(),
                      .dropped = made_of.dropped,
                      .evicting = ill_.evicting(now),
                      .driver = names_.driver,
                      .pool = pool_};
  next_ = ill_.next(now);
  auto health = health_of(*state_, wish.prepared, pool_);
  if (status_writer_)
    status_writer_->follow(statuses_of(ports_.book.records(), health, names_.driver));
  health_.set(std::move(health), ports_.clock.wall_now());
  auto pool = make_claim_pool(*state_, wish);
  {
    const std::scoped_lock lock(mutex_);
    listed_ = pool.gpus;
  }
  if (published_ && differ_in_order_alone(*published_, pool)) {
    if (published_->gpus == pool.gpus) return;
    const auto due = published_at_ + kBetweenOrders;
    if (now < due) {
      next_ = std::min(next_.value_or(due), due);
      return;
    }
  }
  published_ = pool;
  published_at_ = now;
  publisher_->publish(std::move(pool));
}

// Claims under a name that is not served here.
std::set<std::string> ClaimService::names_to_drain() const {
  auto names = drivers_of(ports_.book.claims(), names_.driver);
  if (!ports_.book.unreadable().empty()) names.insert(names_.driver);
  if (serves()) names.erase(names_.driver);
  return names;
}

void ClaimService::look_at_drain() {
  if (drain_.is_idle() && names_to_drain().empty()) return;
  starter_->request(
      {.key = kDrainKey,
       .attempt = [this](const std::stop_token&) { return drain_.look(names_to_drain()); },
       .done = {},
       .aim = kDrainKey});
}

void ClaimService::tell_drain() {
  if (!ports_.book.restored()) return;
  auto condition =
      drain_condition(ports_.book.claims(), ports_.book.unreadable(),
                      {.driver = names_.driver, .serves = serves() ? Serves::kYes : Serves::kNo});
  if (told_ == condition) return;
  if (!condition.good) ports_.log.warn(condition.message);
  if (ports_.report) ports_.report(condition);
  told_ = std::move(condition);
}

void ClaimService::tick(TimePoint now) {
  publish(now);
  tell_drain();
  if (now - look_at_server_ < kLookAtServer) return;
  look_at_server_ = now;
  look_at_drain();
  if (state_ && gates_off(takes_claims(*state_)) != state_->get<ClaimStanding>().gates_off) {
    ports_.look_again();
  }
  sweep(now);
  // A GPU may have been cut for a claim whose record is being written again, or that has ended
  // since.
  if (cuts_.look_again()) ask_for_cuts();
  bool gone = false;
  {
    const std::scoped_lock lock(mutex_);
    gone = server_ != nullptr && !server_->intact();
  }
  if (gone) look_at_store();
}

void ClaimService::sweep(TimePoint now) {
  if (!publisher_ || !ports_.book.restored()) return;
  const auto due = sweep_at_.value_or(now + kBetweenSweeps);
  sweep_at_ = now < due ? due : now + kBetweenSweeps;
  if (now < due) return;
  starter_->request({.key = kSweepKey,
                     .attempt = [this](const std::stop_token&) -> Result<void> {
                       if (!ports_.book.unreadable().empty()) TRY(preparer_.restore());
                       return sweep_->look();
                     },
                     .done = {},
                     .aim = kSweepKey});
}

std::string ClaimService::remark() const {
  const std::scoped_lock lock(mutex_);
  if (!no_node_.empty()) return "claims cannot be prepared: " + no_node_;
  if (!refused_.empty()) return refused_;
  return told_ && !told_->good ? told_->message : std::string();
}

void ClaimService::rest() {
  publisher_.reset();
  status_writer_.reset();
  next_.reset();
}

// Calls of kubelet that wait return.
void ClaimService::stop() {
  ports_.book.stop();
  health_.stop();
  drain_.stop();
}

void ClaimService::leave() {
  stop();
  starter_.reset();
  drain_.close();
  std::unique_ptr<dra::Server> server;
  {
    const std::scoped_lock lock(mutex_);
    server = std::move(server_);
  }
}

std::vector<cluster::ObjectKey> ClaimService::users_of(const cluster::ObjectKey& claim) const {
  if (!serves()) return {cluster::ObjectKey()};
  const auto object =
      ports_.objects->get(cluster::kResourceClaim, claim, {.deadline = kLongestAsking});
  const auto parsed = object ? cluster::parse_resource_claim(object->json)
                             : Result<cluster::ResourceClaim>(std::unexpected(object.error()));
  std::vector<cluster::ObjectKey> pods;
  if (parsed) {
    for (const auto& user : parsed->reserved_for) {
      if (user.resource == "pods") pods.push_back({claim.ns, user.name});
    }
  }
  if (pods.empty()) pods.emplace_back();
  return pods;
}

Result<std::vector<ClaimTenant>> ClaimService::tenants() const {
  std::shared_ptr<const ClaimNode> node;
  {
    const std::scoped_lock lock(mutex_);
    node = node_;
  }
  if (node == nullptr || !ports_.book.claimed()) {
    return fail(Code::kUnavailable, "the claims that are prepared on this node are not known yet");
  }
  return claim_tenants(ports_.book.claims(), *node);
}

}  // namespace tranche::agent
