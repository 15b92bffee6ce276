#include "agent/agent.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <csignal>

#include "agent/report.h"
#include "cdi/imex.h"
#include "host/host_reader.h"
#include "labels/limit_labels.h"
#include "offer/make_offer.h"
#include "process/host_name.h"
#include "process/signals.h"

namespace tranche::agent {
namespace {

// "never": longer than any machine runs, short enough to be added to a time.
constexpr std::chrono::hours kNever{24 * 365 * 50};

// How soon it is seen that a control daemon has come or gone.
constexpr std::chrono::milliseconds kMpsInterval{1000};

std::chrono::milliseconds quiet_time(const config::AgentOptions& options) {
  if (!options.health_recovery) return kNever;
  return std::chrono::ceil<std::chrono::milliseconds>(*options.health_recovery);
}

}  // namespace

Agent::Agent(Ports ports, Settings settings, ConfigSource& source, config::Loaded loaded)
    : ports_(std::move(ports)),
      settings_(std::move(settings)),
      source_(source),
      loaded_(std::move(loaded)),
      health_(settings_.xid_policy, quiet_time(settings_.options)),
      status_(settings_.options.state_dir, process::host_name(), ports_.clock) {}

Agent::~Agent() {
  if (ports_.notifier != nullptr) ports_.notifier->listen({});
  setter_.reset();
  pruner_.reset();
  xids_.reset();
  hardware_.reset();
}

Result<void> Agent::run(int signals) {
  ASSIGN_OR_RETURN(mailbox_, process::Mailbox::open());
  if (!take_node_lock(signals)) return {};
  TRY(start());
  loop(signals);
  if (labels_) labels_->finish();
  ports_.log.info("stopped");
  return {};
}

void Agent::announce(const config::Loaded& loaded) const {
  for (const auto& warning : loaded.warnings) ports_.log.warn(warning.message);
  ports_.log.info(fmt::format("Running with config:\n{}", loaded.json));
  ports_.log.info(describe_limits(loaded.config));
}

void Agent::loop(int signals) {
  bool running = true;
  while (running) {
    std::array<pollfd, 4> fds{};
    const auto watch_fd = [](const std::optional<Watch>& watch) {
      return watch ? watch->fd() : -1;
    };
    fds[0] = {.fd = signals, .events = POLLIN, .revents = 0};
    fds[1] = {.fd = mailbox_->fd(), .events = POLLIN, .revents = 0};
    fds[2] = {.fd = watch_fd(config_watch_), .events = POLLIN, .revents = 0};
    fds[3] = {.fd = watch_fd(kubelet_watch_), .events = POLLIN, .revents = 0};
    (void)!::poll(fds.data(), fds.size(), static_cast<int>(poll_time().count()));
    dispatch(signals, running);
  }
}

void Agent::dispatch(int signals, bool& running) {
  while (const int signal = process::next_signal(signals)) {
    if (signal == SIGHUP) on_hangup();
    if (process::ends_process(signal)) running = false;
  }
  if (!running) return;
  if (config_watch_ && config_watch_->drain()) on_config_change();
  if (kubelet_watch_ && kubelet_watch_->drain()) on_kubelet_folder();
  for (const auto& task : mailbox_->take()) task();
  plugins_->tick(now());
  look_at_mps();
  if (health_due_ && *health_due_ <= now()) reconcile();
  beat();
}

// At least at every reading of the hardware.
void Agent::beat() {
  const auto wanted = carried_ ? carried_->offer.resources.size() : 0;
  if (!carried_) {
    status_.beat({.ready = false, .text = "the GPU driver does not answer"});
  } else if (!limits_complaint_.empty()) {
    status_.beat({.ready = false, .text = "limits cannot be kept here, see the log"});
  } else if (const auto trouble = std::ranges::find_if(
                 mps_troubles_, [](const auto& entry) { return !entry.second.empty(); });
             trouble != mps_troubles_.end()) {
    status_.beat(
        {.ready = false, .text = fmt::format("{}: {}", trouble->first.value, trouble->second)});
  } else if (plugins_->serving() < wanted) {
    status_.beat({.ready = false, .text = "a resource cannot be served, see the log"});
  } else {
    status_.beat({.ready = true, .text = source_.origin()});
  }
}

std::chrono::milliseconds Agent::poll_time() {
  using std::chrono::milliseconds;
  milliseconds time = std::chrono::hours(1);
  const auto until = [&](TimePoint at) {
    const auto left = std::chrono::ceil<milliseconds>(at - now());
    time = std::clamp(left, milliseconds(0), time);
  };
  if (const auto tick = plugins_->next_tick()) until(*tick);
  if (!mps_troubles_.empty()) time = std::min(time, kMpsInterval);
  health_due_ = health_.next_change(now());
  if (health_due_) until(*health_due_);
  return time;
}

// As NVIDIA's plugin: everything is read anew, what was seen of errors is forgotten, and every
// resource is served and registered afresh.
void Agent::on_hangup() {
  ports_.log.info("SIGHUP: reading everything anew");
  health_.forget();
  on_config_change();
  host_ = host::read_host(FsRoot(settings_.options.host_root),
                          loaded_.config.flags.gfd.machine_type_file);
  labels_->restamp();
  if (machine_) machine_->host = host_;
  carry_anew_ = true;
  reconcile();
  plugins_->restart(now());
  hardware_->read_now();
}

void Agent::on_config_change() {
  auto loaded = source_.read();
  if (!loaded) {
    refuse_config(loaded.error());
    return;
  }
  if (loaded->config != loaded_.config || loaded->warnings != loaded_.warnings) {
    if (!apply_config(*std::move(loaded))) return;
    labels_->restamp();
    reconcile();
  }
  accept_config();
}

bool Agent::apply_config(config::Loaded loaded) {
  if (const auto followed = follow_imex(loaded.config); !followed) {
    refuse_config(followed.error());
    return false;
  }
  ports_.log.info(fmt::format("the configuration has changed ({})", source_.origin()));
  loaded_ = std::move(loaded);
  announce(loaded_);
  return true;
}

void Agent::accept_config() {
  config_complaint_.clear();
  source_.accepted();
  if (ports_.report) ports_.report({.applied = true, .message = source_.origin()});
}

void Agent::refuse_config(const Error& error) {
  complain(config_complaint_, error,
           "the new configuration is refused, the old one stays in force");
  // What cannot be known now is no fault of the configuration.
  if (!ports_.report || error.code == Code::kUnavailable) return;
  ports_.report({.applied = false, .message = error.message()});
}

// The channels that `config` names, or why it cannot be obeyed here; then nothing has changed.
Result<void> Agent::follow_imex(const config::Config& config) {
  ASSIGN_OR_RETURN(auto channels,
                   cdi::find_imex_channels(FsRoot(settings_.options.host_root),
                                           config.flags.nvidia_dev_root, config.imex));
  for (const auto& warning : channels.warnings) ports_.log.warn(warning);
  facts_.imex_channels = std::move(channels.ids);
  return {};
}

// Something changed in kubelet's folder: kubelet was restarted (its socket is another one), or our
// sockets were removed.
void Agent::on_kubelet_folder() {
  PinnedFile socket(settings_.options.kubelet_socket);
  const bool restarted = socket.exists() && !socket.same(kubelet_socket_);
  kubelet_socket_ = std::move(socket);
  if (restarted) {
    ports_.log.info("kubelet was restarted; serving and registering anew");
    const auto tried = [&](const std::string& resource) {
      const std::scoped_lock lock(tried_mutex_);
      const auto found = tried_with_.find(resource);
      return found != tried_with_.end() && found->second->same(kubelet_socket_);
    };
    plugins_->follow_kubelet(tried, now());
    return;
  }
  plugins_->check_sockets(now());
}

void Agent::on_reading(Result<gpu::Machine> machine) {
  if (machine) {
    if (!reading_complaint_.empty()) ports_.log.info("the GPU driver answers again");
    reading_complaint_.clear();
    take(*std::move(machine));
    return;
  }
  complain(reading_complaint_, machine.error(),
           machine_ ? "its GPUs are unhealthy until it answers" : "waiting for it");
  if (!machine_) {
    update_labels();
    return;
  }
  gpu::Machine gone = *machine_;
  gone.gpus.clear();
  take(std::move(gone));
}

void Agent::take(gpu::Machine machine) {
  machine.host = host_;
  if (machine_) machine = gpu::remember_lost(*machine_, std::move(machine));
  const auto& known = machine_ ? machine_->warnings : std::vector<std::string>();
  for (const auto& warning : machine.warnings) {
    if (std::ranges::find(known, warning) == known.end()) ports_.log.warn(warning);
  }
  const bool changed = !machine_ || machine != *machine_;
  machine_ = std::move(machine);
  health_.on_reading(*machine_, now());
  if (changed && xids_) xids_->follow(*machine_);
  if (changed && machine_->gpus.empty()) ports_.log.info("No devices found. Waiting indefinitely.");
  reconcile();
}

void Agent::reconcile() {
  if (!machine_) return;
  auto health = health_.report(*machine_, now());
  for (const auto& uuid : deaf_) {
    health.try_emplace(uuid.value, "the driver refuses to report its errors");
  }
  auto offer = offer::make_offer(*machine_, loaded_.config, health);
  if (offer) keep_promises(*offer);
  if (offer) follow_mps(*offer);
  const auto done =
      offer ? carry_out(*std::move(offer)) : std::unexpected(std::move(offer).error());
  if (!done) {
    complain(offer_complaint_, done.error(), "what was advertised before stays as it is");
    return;
  }
  offer_complaint_.clear();
  update_labels();
}

// Without a reading yet: what is known of a machine without GPUs, as NVIDIA's feature discovery.
void Agent::update_labels() {
  gpu::Machine none;
  none.host = host_;
  const auto ours = carried_ ? labels::limit_labels(carried_->offer) : labels::Labels();
  labels_->update(machine_.value_or(std::move(none)), loaded_.config, ours);
}

// CDI files first, so that a runtime finds what a grant names; then the plugins.
Result<void> Agent::carry_out(offer::Offer offer) {
  facts_.control_nodes = host::control_nodes(FsRoot(settings_.options.host_root));
  Carried next{*machine_, loaded_.config, std::move(offer), facts_, links_};
  if (carried_) next.facts.cdi_modes = carried_->facts.cdi_modes;
  if (carried_ == next && !carry_anew_) return {};
  ASSIGN_OR_RETURN(next.facts.cdi_modes,
                   cdi_->update(next.offer, *machine_, loaded_.config, facts_.imex_channels));
  for (const auto& line :
       describe_changes(carried_ ? carried_->offer : offer::Offer(), next.offer)) {
    ports_.log.write(line.degraded ? LogLevel::kWarn : LogLevel::kInfo, line.text);
  }
  plugins_->apply(make_states(next.offer, next.config, next.facts, next.links), now());
  if (grants_ != nullptr) {
    const auto line = describe_orphans(grants_->all(), next.offer);
    if (!line.empty() && line != orphans_said_) ports_.log.info(line);
    orphans_said_ = line;
    tell_stale_mps(next.offer);
  }
  follow_limits(next.offer);
  follow_evictions(next.offer);
  tell_withheld(next.offer);
  tell_enforcers(next.offer);
  tell_mps(next.offer);
  carried_ = std::move(next);
  carry_anew_ = false;
  return {};
}

// Says `error` and what follows from it, unless it is what was said last.
void Agent::complain(std::string& last, const Error& error, std::string_view consequence) {
  if (last == error.what) return;
  last = error.what;
  ports_.log.error(fmt::format("{}; {}", error.message(), consequence));
}

}  // namespace tranche::agent
