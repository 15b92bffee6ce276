#include "agent/agent.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <utility>

#include "agent/config/config_standing.h"
#include "agent/hardware/last_xids.h"
#include "agent/notices/report.h"
#include "cdi/imex.h"
#include "host/host_reader.h"

namespace tranche::agent {
namespace {

// "Never": longer than any machine runs, and short enough to be added to a time.
constexpr std::chrono::hours kNever{24 * 365 * 50};

std::chrono::milliseconds quiet_time(const config::AgentOptions& options) {
  if (!options.health_recovery) return kNever;
  return std::chrono::ceil<std::chrono::milliseconds>(*options.health_recovery);
}

}  // namespace

Agent::Agent(Ports ports, Settings settings, ConfigSource& source, config::Loaded loaded)
    : ports_(std::move(ports)),
      settings_(std::move(settings)),
      config_(source, std::move(loaded),
              {.check = [this](const auto& config) { return take_imex_channels(config); },
               .report = [this](const auto& report) { config_report_ = report; },
               .effective =
                   [this](const auto& announced) { return mig_profiles_.effective(announced); },
               .describe = describe_limits},
              ports_.log),
      health_(settings_.xid_policy, quiet_time(settings_.options)),
      status_(settings_.options.state_dir, ports_.clock, ports_.log),
      succession_(ports_.turn, settings_.options.release, ports_.log) {}

Agent::~Agent() { stop_watches(); }

Result<void> Agent::run(int signals) {
  ASSIGN_OR_RETURN(loop_, process::Loop::open());
  TRY(start());
  succession_.listen(*loop_);
  TRY(loop_->run(signals, {.hangup = [this] { on_hangup(); },
                           .turn = [this] { on_turn(); },
                           .longest_sleep = [this] { return longest_sleep(); },
                           .stuck = [this] { on_stuck(); }}));
  hand_over();
  for (const auto& follower : followers_->all()) follower->finish();
  ports_.log.info("stopped");
  return {};
}

// Ends this process if another agent of this release takes over.
void Agent::hand_over() {
  if (!succession_.has_successor()) return;
  stop_watches();
  std::vector<process::NamedDescriptor> held;
  for (const auto& follower : followers_->all()) follower->rest();
  for (const auto& follower : followers_->all()) {
    std::ranges::move(follower->handed_over(), std::back_inserter(held));
  }
  if (!succession_.hand_over(std::move(held))) return;
  for (const auto& follower : followers_->all()) follower->leave();
  ports_.log.info("handed over to the next agent");
  std::_Exit(0);
}

Result<void> Agent::start() {
  auto machine = ports_.reader.read();
  if (machine) mig_profiles_.note(*machine);
  config_.announce();
  TRY(take_imex_channels(config_.config()));
  read_host();
  for (const auto& warning : settings_.xid_policy.warnings) ports_.log.warn(warning);

  if (!machine && config_.config().flags.fail_on_init_error) {
    return std::unexpected(std::move(machine).error().with_context(
        "error getting plugins: unable to create plugins: failed to construct resource managers"));
  }
  make_followers();
  TRY(succession_.follow_predecessor(*loop_, [this] {
    Result<void> taken;
    for (const auto& follower : followers_->all()) {
      auto done = follower->predecessor_ended();
      if (!done && taken) taken = std::move(done);
    }
    return taken;
  }));
  on_reading(std::move(machine));
  start_watches();
  // For changes before the source was watched.
  on_config_change();
  on_turn();
  return {};
}

void Agent::make_followers() {
  const auto on_loop = [this](auto action) { return [this, action] { loop_->post(action); }; };
  followers_.emplace(AgentContext{.outside = ports_.outside,
                                  .options = settings_.options,
                                  .loop = *loop_,
                                  .clock = ports_.clock,
                                  .log = ports_.log,
                                  .look_again = on_loop([this] { reconcile(); }),
                                  .read_hardware = on_loop([this] {
                                    if (hardware_) hardware_->read_now();
                                  }),
                                  .renew_checkpoint = on_loop([this] {
                                    for (const auto& follower : followers_->all())
                                      follower->renew_checkpoint();
                                  }),
                                  .inherited = succession_.inherited()},
                     std::move(ports_.more));
  rounds_.emplace(*followers_, ports_.outside.tell, ports_.clock, ports_.log);
}

void Agent::start_watches() {
  if (auto paths = config_.watch_paths(); !paths.empty()) {
    auto watch = Watch::open(std::move(paths));
    const auto added = watch ? loop_->on_readable(watch->fd(),
                                                  [this] {
                                                    if (config_watch_->drain()) on_config_change();
                                                  })
                             : std::unexpected(watch.error());
    if (added) {
      config_watch_ = *std::move(watch);
    } else {
      ports_.log.error(
          fmt::format("changes are not noticed until SIGHUP: {}", added.error().message()));
    }
  }
  if (ports_.notifier != nullptr) {
    ports_.notifier->listen([this] { loop_->post([this] { on_config_change(); }); });
  }
  hardware_.emplace(
      ports_.reader,
      std::chrono::ceil<std::chrono::milliseconds>(settings_.options.machine_interval),
      state_.machine.value_or(gpu::Machine()),
      HardwareWatch::Callbacks{.reading =
                                   [this](Result<gpu::Machine> machine) {
                                     loop_->post([this, machine = std::move(machine)]() mutable {
                                       on_reading(std::move(machine));
                                     });
                                   },
                               .links =
                                   [this](offer::Links links) {
                                     loop_->post([this, links = std::move(links)]() mutable {
                                       state_.links =
                                           std::make_shared<const offer::Links>(std::move(links));
                                       reconcile();
                                     });
                                   }});
  if (!settings_.xid_policy.listens()) return;
  xids_.emplace(
      ports_.events,
      XidWatch::Callbacks{.event =
                              [this](gpu::XidEvent event) {
                                loop_->post([this, event = std::move(event)] {
                                  health_.on_xid(event, ports_.clock.now());
                                  if (event.gpu) {
                                    state_.edit<LastXids>().note({.gpu = event.gpu->value,
                                                                  .xid = event.xid,
                                                                  .at = ports_.clock.wall_now()});
                                  }
                                  reconcile();
                                });
                              },
                          .layout = [this] { hardware_->read_now(); },
                          .deaf =
                              [this](std::vector<gpu::GpuUuid> deaf) {
                                loop_->post([this, deaf = std::move(deaf)] {
                                  deaf_ = deaf;
                                  reconcile();
                                });
                              }},
      ports_.log);
  if (state_.machine) xids_->follow(*state_.machine);
}

void Agent::stop_watches() {
  if (ports_.notifier != nullptr) ports_.notifier->listen({});
  xids_.reset();
  hardware_.reset();
}

// As in NVIDIA's plugin, SIGHUP re-reads everything, forgets earlier errors, and serves and
// registers every resource again.
void Agent::on_hangup() {
  ports_.log.info("SIGHUP: reading everything anew");
  health_.forget();
  on_config_change();
  read_host();
  rounds_->follow_anew();
  reconcile();
  for (const auto& follower : followers_->all()) follower->restart(ports_.clock.now());
  hardware_->read_now();
}

void Agent::on_turn() {
  const bool health_changes = health_due_ && *health_due_ <= ports_.clock.now();
  const bool look_again = rounds_->next() && *rounds_->next() <= ports_.clock.now();
  if (health_changes || look_again) reconcile();
  if (config_due_ && *config_due_ <= ports_.clock.now()) on_config_change();
  for (const auto& follower : followers_->all()) follower->tick(ports_.clock.now());

  const auto why = rounds_->trouble(state_);
  const auto text = why.empty() ? config_.origin() + rounds_->in_part_remark() : why;
  status_.beat({.ready = why.empty(), .text = text + rounds_->remarks(), .turns = loop_->turns()});
}

std::chrono::milliseconds Agent::longest_sleep() {
  using std::chrono::milliseconds;
  milliseconds time = std::chrono::hours(1);
  const auto until = [&](const std::optional<TimePoint>& at) {
    if (!at) return;
    const auto now = ports_.clock.now();
    // A past time may be too long ago for a difference.
    const auto left = *at > now ? std::chrono::ceil<milliseconds>(*at - now) : milliseconds(0);
    time = std::min(left, time);
  };
  health_due_ = health_.next_change(ports_.clock.now());
  until(health_due_);
  until(rounds_->next());
  until(config_due_);
  for (const auto& follower : followers_->all()) until(follower->next_tick());
  return time;
}

void Agent::on_stuck() const {
  const auto is_due = [this](const std::optional<TimePoint>& at) {
    return at && *at <= ports_.clock.now();
  };
  std::string what = "a follower";
  if (is_due(health_due_)) what = "health";
  if (is_due(rounds_->next())) what = "an input of the offer";
  if (is_due(config_due_)) what = "the configuration";
  ports_.log.error(process::stuck_text(what));
}

void Agent::report_config() const {
  if (!ports_.report || !config_report_) return;
  auto report = *config_report_;
  report.in_part = rounds_->in_part();
  ports_.report(report);
}

void Agent::on_config_change() {
  if (config_.look() || config_.standing() != state_.get<ConfigStanding>()) {
    reconcile();
  } else {
    report_config();
  }
  config_due_.reset();
  if (const auto wait = config_.look_again()) config_due_ = ports_.clock.now() + *wait;
}

// Finds the IMEX channels that `config` names. After an error nothing has changed.
Result<void> Agent::take_imex_channels(const config::Config& config) {
  auto channels = cdi::find_imex_channels(FsRoot(config.flags.plugin.container_driver_root),
                                          FsRoot(settings_.options.host_root),
                                          config.flags.nvidia_dev_root, config.imex);
  if (!channels) {
    return std::unexpected(std::move(channels).error().with_context(
        "error getting plugins: error querying IMEX channels"));
  }
  for (const auto& warning : channels->warnings) ports_.log.warn(warning);
  state_.facts.imex_channels = std::move(channels->ids);
  return {};
}

void Agent::read_host() {
  state_.host = host::read_host(FsRoot(settings_.options.host_root),
                                config_.config().flags.gfd.machine_type_file);
  if (state_.machine) state_.machine->host = state_.host;
}

void Agent::on_reading(Result<gpu::Machine> machine) {
  constexpr std::string_view kTopic = "reading";
  if (machine) {
    if (said_.was_said(kTopic)) ports_.log.info("the GPU driver answers again");
    said_.forget(kTopic);
    take(*std::move(machine));
    return;
  }
  if (said_.is_news(kTopic, machine.error().what)) {
    ports_.log.error(
        fmt::format("{}; {}", machine.error().message(),
                    state_.machine ? "its GPUs are unhealthy until it answers" : "waiting for it"));
  }
  if (!state_.machine) {
    reconcile();
    return;
  }
  gpu::Machine gone = *state_.machine;
  gone.gpus.clear();
  take(std::move(gone));
}

void Agent::take(gpu::Machine machine) {
  auto& known = state_.machine;
  machine.host = state_.host;
  mig_profiles_.note(machine);
  if (known) machine = gpu::remember_lost(*known, std::move(machine));
  const auto& warned = known ? known->warnings : std::vector<std::string>();
  for (const auto& warning : machine.warnings) {
    if (std::ranges::find(warned, warning) == warned.end()) ports_.log.warn(warning);
  }
  const bool changed = !known || machine != *known;
  known = std::move(machine);
  health_.on_reading(*known, ports_.clock.now());
  if (changed && xids_) xids_->follow(*known);
  if (changed && known->gpus.empty()) ports_.log.info("No devices found. Waiting indefinitely.");
  reconcile();
}

void Agent::reconcile() {
  state_.config = config_.config();
  state_.config_revision = config_.revision();
  state_.set(config_.standing());
  if (!state_.machine) {
    for (const auto& follower : followers_->all()) follower->await_hardware(state_);
    return;
  }
  state_.health = health_.report(*state_.machine, ports_.clock.now());
  for (const auto& uuid : deaf_) {
    state_.health.try_emplace(uuid.value, "the driver refuses to report its errors");
  }
  state_.facts.control_nodes = host::control_nodes(FsRoot(settings_.options.host_root));
  rounds_->run(state_);
  report_config();
}

}  // namespace tranche::agent
