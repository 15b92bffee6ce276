#include "agent/followers.h"

#include <fmt/format.h>

#include <iterator>

#include "agent/dra/claim_follower.h"
#include "agent/dra/claim_stage.h"
#include "agent/health/health_follower.h"
#include "agent/holdings/held_notices.h"
#include "agent/holdings/withholding.h"
#include "agent/labels/label_follower.h"
#include "agent/limits/eviction_follower.h"
#include "agent/limits/give_grant.h"
#include "agent/limits/limit_stage.h"
#include "agent/limits/tenant_follower.h"
#include "agent/mig/mig_follower.h"
#include "agent/mps/mps_opener.h"
#include "agent/mps/mps_stage.h"
#include "agent/notices.h"
#include "agent/plugins/driver_files_input.h"
#include "agent/unplanned_mig.h"
#include "offer/withholding.h"

namespace tranche::agent {
namespace {

std::string own_pod(const config::AgentOptions& options) {
  return options.pod_name.empty() ? "" : options.kube_namespace + '/' + options.pod_name;
}

}  // namespace

std::vector<Stage> stages() {
  return {offer_what_cdi_can_name, offer_what_can_be_limited,
          offer_what_mps_serves,   withhold_what_is_held,
          offer_by_mode,           withhold_what_changes};
}

Followers::Followers(FollowerPorts ports, const config::AgentOptions& options, process::Loop& loop,
                     const std::function<void()>& look_again, const Clock& clock, const Log& log,
                     GrantStore::Writers writers)
    : book_(ports.book) {
  book_.on_misfit(look_again);
  // Where nobody serves claims there are none.
  if (!ports.claims) book_.restore(std::map<std::string, dra::PreparedClaim>(), {});
  open_grants(options, clock, log, writers);
  TenantManager* tenants = tenants_ ? &*tenants_ : nullptr;

  serve_claims(ports, options, look_again, clock, log);
  inputs_.push_back(std::make_unique<DriverFilesInput>(options, claims_.has_value(), clock));
  inputs_.push_back(std::make_unique<LimitInput>(tenants));
  inputs_.push_back(std::make_unique<MpsInput>(options.mps_dir));

  const bool somebody_evicts = options.ask_evictions && !options.arbiter_state_dir.empty();
  Notices::Grants grants;
  if (grants_ != nullptr) grants = [store = grants_.get()] { return store->all(); };

  // Each round runs in this order. CDI files come first, so that a runtime finds the devices that a
  // grant names.
  auto cdi = std::make_unique<CdiPublisher>(options, log);
  const CdiPublisher& published = *cdi;
  followers_.push_back(std::move(cdi));
  followers_.push_back(std::make_unique<MpsOpener>(options.mps_dir, book_, log));
  followers_.push_back(std::make_unique<ChangeLog>(log));
  auto served = std::make_unique<PluginFollower>(
      PluginFollower::Options{.dir = options.device_plugins_dir(),
                              .kubelet_socket = options.kubelet_socket,
                              .take_over = options.take_over},
      PluginFollower::Parts{
          .register_plugin = std::move(ports.register_plugin),
          .store = [this,
                    tenants](const offer::Grant& grant) { return give(grant, book_, tenants); },
          .cdi = published,
          .loop = loop,
          .clock = clock,
          .log = log});
  PluginFollower* const plugins = plugins_ = served.get();
  followers_.push_back(std::move(served));
  std::function<OtherPlugins()> others;
  if (auto serving = follow_serving(*plugins, ports, options.take_over, loop, clock, log)) {
    others = [follower = serving.get()] { return follower->others(); };
    followers_.push_back(std::move(serving));
  }
  const auto renew_checkpoint = [&loop, plugins] { loop.post([plugins] { plugins->resend(); }); };
  WithholdingInput::Part part;
  if (tenants != nullptr) {
    part = [tenants](const holdings::Holding& holding) {
      return tenants->part_of(holding.tenant, holding.device);
    };
  }
  inputs_.push_back(
      std::make_unique<WithholdingInput>(book_, ports.pod_resources,
                                         HoldingsWatch::Parts{.book = book_,
                                                              .answers = ports.holders,
                                                              .clock = clock,
                                                              .log = log,
                                                              .look_again = look_again,
                                                              .renew_checkpoint = renew_checkpoint},
                                         std::move(part)));
  if (tenants != nullptr) {
    followers_.push_back(std::make_unique<TenantFollower>(TenantFollower::Parts{
        .tenants = *tenants,
        .holders = ports.holders,
        .interval = std::chrono::ceil<std::chrono::milliseconds>(options.grants_interval),
        .living = LivingTenants(FsRoot(), options.arbiter_state_dir, clock),
        .overrides = ports.overrides,
        .renew_checkpoint = renew_checkpoint,
        .tell_stored = [report = ports.report_condition](const Result<void>& stored) {
          if (report) report(stored_condition(stored));
        }}));
  }
  manage_mig(ports, options, look_again, renew_checkpoint, clock, log);
  if (claims_) followers_.push_back(std::make_unique<ClaimFollower>(*claims_));
  followers_.push_back(
      std::make_unique<HealthFollower>(ports.report_condition, std::move(ports.tell_health)));
  followers_.push_back(
      std::make_unique<EvictionFollower>(std::move(ports.evict), somebody_evicts, log));
  followers_.push_back(
      std::make_unique<UnplannedMig>(std::move(ports.mig_config), ports.report_condition, log));
  followers_.push_back(std::make_unique<HeldNotices>(ports.tell, ports.report_condition, log));
  followers_.push_back(std::make_unique<Notices>(std::move(grants), std::move(ports.tell), log));
  followers_.push_back(
      std::make_unique<LabelFollower>(options.labels, ports.labels, std::move(others), clock, log));
  std::ranges::move(ports.more, std::back_inserter(followers_));
}

void Followers::serve_claims(FollowerPorts& ports, const config::AgentOptions& options,
                             const std::function<void()>& look_again, const Clock& clock,
                             const Log& log) {
  if (!ports.claims) return;
  const auto no_tenants = [] {
    return fail(Code::kFailedPrecondition, "there is no state folder",
                "mount a writable folder at --state-dir");
  };
  if (ports.claims->instances) instances_.emplace(*std::move(ports.claims->instances));
  claims_.emplace(options,
                  ClaimService::Ports{
                      .objects = ports.claims->objects,
                      .kubelet = ports.pod_resources,
                      .book = book_,
                      .node = std::move(ports.claims->node),
                      .boot = std::move(ports.claims->boot),
                      .add_tenant = [this, no_tenants, driver = options.dra_driver_name](
                                        const std::string& tenant, const GrantLimits& limits,
                                        bool renewed) -> Result<void> {
                        if (!tenants_) return no_tenants();
                        return tenants_->add_claim(tenant, driver, limits, renewed);
                      },
                      .remove_tenant = [this](const std::string& tenant) -> Result<void> {
                        return tenants_ ? tenants_->remove_claim(tenant) : Result<void>();
                      },
                      .instances = instances_ ? &*instances_ : nullptr,
                      .mounts = [this, no_tenants]() -> Result<offer::LimitMounts> {
                        if (!tenants_) return no_tenants();
                        return tenants_->prepare();
                      },
                      .hook = [this, no_tenants](bool wanted) -> Result<std::optional<cdi::Hook>> {
                        if (!tenants_) return no_tenants();
                        return tenants_->prepare_claims_hook(wanted);
                      },
                      .pod = std::move(ports.claims->pod),
                      .look_again = look_again,
                      .clock = clock,
                      .log = log});
  if (tenants_) tenants_->know_claims([this] { return claims_->tenants(); });
  inputs_.push_back(std::make_unique<ClaimInput>(*claims_));
}

void Followers::manage_mig(const FollowerPorts& ports, const config::AgentOptions& options,
                           const std::function<void()>& look_again,
                           const std::function<void()>& renew_checkpoint, const Clock& clock,
                           const Log& log) {
  if (!ports.mig) return;
  const auto& mig = *ports.mig;
  mig_.emplace(MigManager::Options{.state_dir = options.state_dir,
                                   .config_file = options.mig_config_file,
                                   .settings = {.times = {.drain = options.mig_drain_timeout},
                                                .controller = options.mig_ask_controller},
                                   .own_pod = own_pod(options)},
               MigManager::Ports{
                   .control = mig.control,
                   .reset = mig.reset,
                   .kubelet = ports.pod_resources,
                   .holders = ports.holders,
                   .book = book_,
                   .users_of_claim =
                       [this](const cluster::ObjectKey& claim) { return claims_->users_of(claim); },
                   .node = mig.node,
                   .write = mig.write,
                   .boot = mig.boot,
                   .users = mig.users,
                   .quiet = mig.quiet,
                   .pods = mig.pods,
                   .read_hardware = mig.read_hardware,
                   .look_again = look_again,
                   .renew_checkpoint = renew_checkpoint,
                   .tell = ports.tell,
                   .report = ports.report_condition,
                   .clock = clock,
                   .log = log});
  inputs_.push_back(std::make_unique<MigInput>(*mig_));
  followers_.push_back(std::make_unique<MigFollower>(*mig_));
}

std::unique_ptr<ServingFollower> Followers::follow_serving(PluginFollower& plugins,
                                                           const FollowerPorts& ports,
                                                           bool take_over, process::Loop& loop,
                                                           const Clock& clock, const Log& log) {
  if (!plugins.registers()) return nullptr;
  auto serving = std::make_unique<ServingFollower>(ServingFollower::Parts{
      .plugins = {
          .is_registered =
              [&plugins](const std::string& name) { return plugins.is_registered(name); },
          .socket_trouble =
              [&plugins](const std::string& name) { return plugins.socket_trouble(name); },
          .register_again = [&plugins](const std::string& name) { plugins.register_again(name); },
          .take_events = [&plugins] { return plugins.take_events(); }},
      .ask = [this] { kubelet_->ask(); },
      .report = ports.report_condition,
      .tell = ports.tell,
      .take_over = take_over,
      .clock = clock,
      .log = log});
  ServingFollower* const follower = serving.get();
  kubelet_.emplace(
      ports.pod_resources, [&loop, follower](Result<cluster::AllocatableDevices> answer) {
        loop.post([follower, answer = std::move(answer)] { follower->answered(answer); });
      });
  return serving;
}

Result<void> Followers::predecessor_ended() {
  plugins_->watch_inherited();
  if (claims_) claims_->look_at_store();
  if (grants_ == nullptr) return {};
  ASSIGN_OR_RETURN(const auto taken, grants_->own());
  book_.restore(taken);
  return {};
}

std::vector<process::NamedDescriptor> Followers::rest() {
  for (const auto& follower : followers_) follower->rest();
  if (grants_ != nullptr) grants_->share();
  return plugins_->connections();
}

void Followers::open_grants(const config::AgentOptions& options, const Clock& clock, const Log& log,
                            GrantStore::Writers writers) {
  const auto dir = std::filesystem::path(options.state_dir) / "grants";
  auto store = GrantStore::open(dir, clock, log, {}, writers);
  if (!store) {
    log.warn(
        fmt::format("the stored grants cannot be read, so none is stored and nothing can be "
                    "limited: {}; mend or remove the file, and restart the agent",
                    store.error().message()));
    return;
  }
  grants_ = *std::move(store);
  const std::filesystem::path library = options.limit_library;
  tenants_.emplace(
      TenantManager::Options{.library = library.empty() ? library_beside_program() : library,
                             .state_dir = options.state_dir,
                             .cdi_root = options.cdi_root},
      *grants_, clock, log);
  const auto restored = grants_->all();
  book_.restore(restored);
  if (!restored.empty()) {
    log.info(fmt::format("restored {} grants from {}", restored.size(), dir.string()));
  }
}

}  // namespace tranche::agent
