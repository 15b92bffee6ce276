#include "agent/agent.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <cstdlib>
#include <ranges>
#include <utility>

#include "agent/report.h"
#include "cdi/imex.h"
#include "cdi/make_specs.h"
#include "cluster/reasons.h"
#include "config/file/json.h"
#include "host/host_reader.h"
#include "offer/make_offer.h"

namespace tranche::agent {
namespace {

// Stands for "never": longer than any machine runs, and short enough to be added to a time.
constexpr std::chrono::hours kNever{24 * 365 * 50};

// How long the next agent may take to read the hardware and to register. Kubelet ends a Pod's
// containers after 30 s.
constexpr std::chrono::seconds kHandoverTime{20};
constexpr std::chrono::milliseconds kLastCalls{1000};

std::chrono::milliseconds quiet_time(const config::AgentOptions& options) {
  if (!options.health_recovery) return kNever;
  return std::chrono::ceil<std::chrono::milliseconds>(*options.health_recovery);
}

}  // namespace

Agent::Agent(Ports ports, Settings settings, ConfigSource& source, config::Loaded loaded)
    : ports_(std::move(ports)),
      settings_(std::move(settings)),
      config_(source, std::move(loaded),
              {.check = [this](const auto& config) { return take_config(config); },
               .report = [this](const auto& report) { config_report_ = report; },
               .effective = [this](const auto& announced) { return effective(announced); },
               .describe = describe_limits},
              ports_.log),
      health_(settings_.xid_policy, quiet_time(settings_.options)),
      tell_(ports_.followers.tell),
      status_(settings_.options.state_dir, ports_.clock, ports_.log) {}

Agent::~Agent() {
  if (ports_.notifier != nullptr) ports_.notifier->listen({});
  xids_.reset();
  hardware_.reset();
}

Result<void> Agent::run(int signals) {
  ASSIGN_OR_RETURN(loop_, process::Loop::open());
  TRY(start());
  listen_for_successor();
  TRY(loop_->run(signals, {.hangup = [this] { on_hangup(); },
                           .turn = [this] { on_turn(); },
                           .longest_sleep = [this] { return longest_sleep(); },
                           .stuck = [this] { on_stuck(); }}));
  hand_over();
  for (const auto& follower : followers_->all()) follower->finish();
  ports_.log.info("stopped");
  return {};
}

// The MIG resources of the machine are among those that NVIDIA's plugin prints.
std::string Agent::effective(const config::Loaded& loaded) const {
  const auto& config = loaded.config;
  if (config.flags.mig_strategy != config::MigStrategy::kMixed || !config.migs.empty()) {
    return loaded.json;
  }
  return config::with_mig_resources(loaded.json, mig_profiles_);
}

void Agent::note_mig_profiles(const gpu::Machine& machine) {
  for (const auto& gpu : machine.gpus) {
    for (const auto& profile : gpu.mig_geometry.profiles) {
      if (std::ranges::find(mig_profiles_, profile.name) == mig_profiles_.end()) {
        mig_profiles_.push_back(profile.name);
      }
    }
  }
}

// The next agent of this release connects here while it waits for the lock.
void Agent::listen_for_successor() {
  if (ports_.turn == nullptr || ports_.turn->lock == nullptr) return;
  for (const auto& file : ports_.turn->lock->files) {
    auto handover = process::Handover::listen(file.path.parent_path() / kHandoverSocket,
                                              settings_.options.release);
    const auto added =
        handover ? loop_->on_readable((*handover)->fd(), [one = handover->get()] { one->accept(); })
                 : std::unexpected(handover.error());
    if (!added) {
      ports_.log.warn(Error(added.error())
                          .with_context("the next agent cannot take over while this one serves"));
      continue;
    }
    handovers_.push_back(*std::move(handover));
  }
}

// Ends this process, if another agent of this release takes over. Kubelet's connections are not
// closed: the next agent holds them too, and kubelet drops what serves a resource when one of them
// ends.
void Agent::hand_over() {
  for (const auto& one : handovers_) one->accept();
  const auto handover =
      std::ranges::find_if(handovers_, [](const auto& one) { return one->has_successor(); });
  if (handover == handovers_.end()) return;
  if (ports_.notifier != nullptr) ports_.notifier->listen({});
  xids_.reset();
  hardware_.reset();
  auto held = followers_->rest();
  for (const auto& file : ports_.turn->lock->files | std::views::reverse) {
    held.push_back(
        {std::string(kHandedLock), Descriptor(::fcntl(file.lock->fd(), F_DUPFD_CLOEXEC, 0))});
  }
  const auto successor = (*handover)->give(held);
  if (!successor || !process::wait_until_serving(*successor, kHandoverTime)) return;
  // Kubelet may have chosen this agent for a call before it took the other one's registration.
  pollfd other{.fd = successor->get(), .events = POLLIN, .revents = 0};
  ::poll(&other, 1, static_cast<int>(kLastCalls.count()));
  for (const auto& follower : followers_->all()) follower->leave();
  ports_.log.info("handed over to the next agent");
  std::_Exit(0);
}

Result<void> Agent::start() {
  auto machine = ports_.reader.read();
  if (machine) note_mig_profiles(*machine);
  config_.announce();
  TRY(take_imex_channels(config_.config()));
  read_host();
  for (const auto& warning : settings_.xid_policy.warnings) ports_.log.warn(warning);

  if (!machine && config_.config().flags.fail_on_init_error) {
    return std::unexpected(std::move(machine).error().with_context(
        "error getting plugins: unable to create plugins: failed to construct resource managers"));
  }
  const bool inherits = ports_.turn != nullptr && ports_.turn->inherited;
  const auto look_again = [this] { loop_->post([this] { reconcile(); }); };
  const auto read_hardware = [this] {
    loop_->post([this] {
      if (hardware_) hardware_->read_now();
    });
  };
  if (auto& mig = ports_.followers.mig) mig->read_hardware = read_hardware;
  if (auto& claims = ports_.followers.claims; claims && claims->instances) {
    claims->instances->changed = read_hardware;
  }
  followers_.emplace(std::move(ports_.followers), settings_.options, *loop_, look_again,
                     ports_.clock, ports_.log,
                     inherits ? GrantStore::Writers::kTwo : GrantStore::Writers::kThis);
  if (inherits) TRY(inherit());
  on_reading(std::move(machine));
  start_watches();
  // The source may have changed before it was watched.
  on_config_change();
  on_turn();
  return {};
}

// Follows the agent that hands over until it has ended.
Result<void> Agent::inherit() {
  auto& predecessor = ports_.turn->predecessor;
  TRY(loop_->on_readable(predecessor.fd(), [this, &predecessor, fd = predecessor.fd()] {
    loop_->forget(fd);
    predecessor.close();
    const auto owned = followers_->predecessor_ended();
    if (owned) return ports_.log.info("the agent before this one has ended");
    ports_.log.error(Error(owned.error()).with_context("grants are not pruned until a restart"));
  }));
  followers_->inherit(*std::exchange(ports_.turn->inherited, {}),
                      [&predecessor] { predecessor.tell_serving(); });
  return {};
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
  xids_.emplace(ports_.events,
                XidWatch::Callbacks{.event =
                                        [this](gpu::XidEvent event) {
                                          loop_->post([this, event = std::move(event)] {
                                            health_.on_xid(event, now());
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

// As in NVIDIA's plugin, SIGHUP has everything read anew, forgets the errors seen so far, and
// serves and registers every resource anew.
void Agent::on_hangup() {
  ports_.log.info("SIGHUP: reading everything anew");
  health_.forget();
  on_config_change();
  read_host();
  follow_anew_ = true;
  reconcile();
  for (const auto& follower : followers_->all()) follower->restart(now());
  hardware_->read_now();
}

void Agent::on_turn() {
  const bool health_changes = health_due_ && *health_due_ <= now();
  const bool look_again = look_due_ && *look_due_ <= now();
  if (health_changes || look_again) reconcile();
  if (config_due_ && *config_due_ <= now()) on_config_change();
  for (const auto& follower : followers_->all()) follower->tick(now());
  beat();
}

std::chrono::milliseconds Agent::longest_sleep() {
  using std::chrono::milliseconds;
  milliseconds time = std::chrono::hours(1);
  const auto until = [&](const std::optional<TimePoint>& at) {
    if (!at) return;
    const auto left = std::chrono::ceil<milliseconds>(*at - now());
    time = std::clamp(left, milliseconds(0), time);
  };
  health_due_ = health_.next_change(now());
  until(health_due_);
  until(look_due_);
  until(config_due_);
  for (const auto& follower : followers_->all()) until(follower->next_tick());
  return time;
}

void Agent::on_stuck() const {
  const auto is_due = [this](const std::optional<TimePoint>& at) { return at && *at <= now(); };
  std::string what = "a follower";
  if (is_due(health_due_)) what = "health";
  if (is_due(look_due_)) what = "an input of the offer";
  if (is_due(config_due_)) what = "the configuration";
  ports_.log.error(process::stuck_text(what));
}

// Called at least at every reading of the hardware.
void Agent::beat() {
  const auto why = trouble();
  auto text = why.empty() ? config_.origin() : why;
  if (const auto part = in_part(); why.empty() && !part.empty()) {
    text += (refused_.empty() ? "; " : "; what was advertised before stays: ") + part;
  }
  if (followers_) {
    for (const auto& follower : followers_->all()) {
      if (const auto remark = follower->remark(); !remark.empty()) text += "; " + remark;
    }
  }
  status_.beat({.ready = why.empty(), .text = text, .turns = loop_->turns()});
}

// Why the agent is not ready; empty: it is.
std::string Agent::trouble() const {
  if (!followed_) return refused_.empty() ? "the GPU driver does not answer" : refused_;
  for (const auto& input : followers_->inputs()) {
    if (auto why = input->trouble(state_); !why.empty()) return why;
  }
  for (const auto& follower : followers_->all()) {
    if (auto why = follower->trouble(); !why.empty()) return why;
  }
  const auto& offer = *followed_->offer;
  return offer.resources.empty() ? in_part() : std::string();
}

// What of the configuration cannot be kept here, and why; empty: it is followed whole.
std::string Agent::in_part() const {
  if (!refused_.empty()) return refused_;
  if (!followed_) return {};
  std::string text;
  for (const auto& withheld : followed_->offer->withheld) {
    text +=
        fmt::format("{}not advertising {}", text.empty() ? "" : "; ", offer::describe(withheld));
  }
  return text;
}

void Agent::report_config() const {
  if (!ports_.report || !config_report_) return;
  auto report = *config_report_;
  report.in_part = in_part();
  ports_.report(report);
}

void Agent::on_config_change() {
  if (config_.look()) {
    reconcile();
  } else {
    report_config();
  }
  config_due_.reset();
  if (const auto wait = config_.look_again()) config_due_ = now() + *wait;
}

// Whether this node can obey `config`. After an error nothing has changed.
Result<void> Agent::take_config(const config::Config& config) { return take_imex_channels(config); }

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
  complain(kTopic, machine.error(),
           state_.machine ? "its GPUs are unhealthy until it answers" : "waiting for it");
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
  note_mig_profiles(machine);
  if (known) machine = gpu::remember_lost(*known, std::move(machine));
  const auto& warned = known ? known->warnings : std::vector<std::string>();
  for (const auto& warning : machine.warnings) {
    if (std::ranges::find(warned, warning) == warned.end()) ports_.log.warn(warning);
  }
  const bool changed = !known || machine != *known;
  known = std::move(machine);
  health_.on_reading(*known, now());
  if (changed && xids_) xids_->follow(*known);
  if (changed && known->gpus.empty()) ports_.log.info("No devices found. Waiting indefinitely.");
  reconcile();
}

// Makes an offer of the state and has it followed.
void Agent::reconcile() {
  state_.config = config_.config();
  state_.config_revision = config_.revision();
  if (!state_.machine) {
    for (const auto& follower : followers_->all()) follower->await_hardware(state_);
    return;
  }
  const auto done = follow(make_offer());
  refused_ = done ? std::string() : done.error().message();
  report_config();
  if (done) return said_.forget("offer");
  const bool news =
      followed_ ? complain("offer", done.error(), "what was advertised before stays as it is")
                : complain("offer", done.error(), "nothing is advertised until then");
  if (news) tell_refused(done.error());
}

// An Event, for `kubectl describe node`.
void Agent::tell_refused(const Error& error) const {
  if (!tell_) return;
  tell_({.warning = true,
         .reason = cluster::reason::kResourceWithheld,
         .action = "Advertise",
         .note = fmt::format("{}: {}",
                             followed_ ? "what was advertised before stays as it is"
                                       : "not advertising any resource",
                             error.message())});
}

offer::Offer Agent::make_offer() {
  state_.health = health_.report(*state_.machine, now());
  for (const auto& uuid : deaf_) {
    state_.health.try_emplace(uuid.value, "the driver refuses to report its errors");
  }
  state_.facts.control_nodes = host::control_nodes(FsRoot(settings_.options.host_root));
  auto offer = offer::make_offer(*state_.machine, state_.config, state_.health);
  look_due_.reset();
  for (const auto& input : followers_->inputs()) {
    input->look(offer, state_);
    if (const auto interval = input->interval(state_)) {
      look_due_ = std::min(look_due_.value_or(now() + *interval), now() + *interval);
    }
  }
  for (const Stage stage : stages()) offer = stage(state_, std::move(offer));
  return offer;
}

Result<void> Agent::follow(offer::Offer offer) {
  if (followed_ && followed_->state == state_ && *followed_->offer == offer && !follow_anew_) {
    return {};
  }
  const Round round{state_, std::make_shared<const offer::Offer>(std::move(offer))};
  std::optional<Error> failed;
  for (const auto& follower : followers_->all()) {
    if (failed && follower->hands_out()) continue;
    auto done = follower->follow(round);
    if (!done && !failed) failed = std::move(done).error();
  }
  if (failed) return std::unexpected(*std::move(failed));
  followed_.emplace(state_, round.offer);
  follow_anew_ = false;
  return {};
}

// Logs `error` and its consequence, unless the same was logged last.
bool Agent::complain(std::string_view topic, const Error& error, std::string_view consequence) {
  if (!said_.is_news(topic, error.what)) return false;
  ports_.log.error(fmt::format("{}; {}", error.message(), consequence));
  return true;
}

}  // namespace tranche::agent
