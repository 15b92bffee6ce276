#include "agent/mps/mps_control.h"

#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <optional>
#include <set>
#include <thread>

#include "agent/config/cluster_node.h"
#include "agent/config/config_follower.h"
#include "agent/config/first_config.h"
#include "agent/hardware/hardware_watch.h"
#include "agent/mps/mps_pause.h"
#include "agent/mps/mps_rules.h"
#include "agent/mps/mps_supervisor.h"
#include "base/exit_code.h"
#include "base/said_once.h"
#include "base/watch.h"
#include "host/child.h"
#include "mps/open_file.h"
#include "mps/ready_file.h"
#include "nvml/connection.h"
#include "nvml/control.h"
#include "nvml/reader.h"
#include "offer/make_offer.h"
#include "offer/offer.h"
#include "process/loop.h"
#include "process/process_lock.h"
#include "process/signals.h"

namespace tranche::agent {
namespace {

using std::chrono::milliseconds;
using SteadyClock = std::chrono::steady_clock;

constexpr milliseconds kLogInterval{500};
constexpr milliseconds kCommandLimit{10'000};
// Kubelet gives a Pod 30 s to end.
constexpr milliseconds kLongestAwait{10'000};

// Runs nvidia-cuda-mps-control in this process's environment without the variables that CUDA reads.
Result<host::ChildEnd> run_program(const std::map<std::string, std::string>& own,
                                   const std::string& driver_root,
                                   std::vector<std::string> arguments,
                                   const std::map<std::string, std::string>& environment,
                                   std::string input) {
  const auto path = own.find("PATH");
  auto program = host::find_program(
      "nvidia-cuda-mps-control", path == own.end() ? "/usr/bin:/bin" : path->second, driver_root);
  if (!program) {
    auto error = std::move(program).error();
    error.hint =
        "it comes with the driver: give the container the capability compute "
        "(NVIDIA_DRIVER_CAPABILITIES), or mount the driver's root at --driver-root-ctr-path";
    return std::unexpected(std::move(error));
  }
  host::Child child{.program = *std::move(program),
                    .arguments = std::move(arguments),
                    .environment = environment,
                    .input = std::move(input),
                    .limit = kCommandLimit};
  for (const auto& [name, value] : own) {
    if (!name.starts_with("CUDA_")) child.environment.emplace(name, value);
  }
  return host::run_child(child);
}

// Returns a descriptor for SIGCHLD. Daemons that lose their parent become children of this process.
Result<Descriptor> adopt_orphans() {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  sigset_t set;
  ::sigemptyset(&set);
  ::sigaddset(&set, SIGCHLD);
  ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
  const int fd = ::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
  if (fd < 0) return std::unexpected(errno_error(errno, "signalfd"));
  return Descriptor(fd);
}

// Reaps children that nobody waited for, which are daemons. True: there was one.
bool bury_orphans() {
  bool any = false;
  while (::waitpid(-1, nullptr, WNOHANG) > 0) any = true;
  return any;
}

class MpsControl {
 public:
  MpsControl(const config::AgentOptions& options, ConfigSource& source, config::Loaded loaded,
             const std::map<std::string, std::string>& environment, ClusterNode* cluster,
             const Log& log)
      : options_(options),
        config_(source, std::move(loaded), {}, log),
        cluster_(cluster),
        log_(log),
        connection_(nvml::Connection::make(
            {.driver_root = config_.config().flags.plugin.container_driver_root,
             .host = FsRoot(options.host_root),
             .log = &log})),
        reader_(connection_),
        gpus_(connection_),
        tools_{.control =
                   [environment, root = config_.config().flags.plugin.container_driver_root](
                       std::vector<std::string> arguments, const auto& extra, std::string input) {
                     return run_program(environment, root, std::move(arguments), extra,
                                        std::move(input));
                   },
               .gpus = gpus_,
               .root = options.mps_dir,
               .host = FsRoot(options.host_root),
               .daemon_log =
                   [](const std::string& text) {
                     std::fwrite(text.data(), 1, text.size(), stdout);
                     std::fflush(stdout);
                   },
               .log = log},
        pause_(tools_.root, connection_, log) {}

  Result<void> run(int signals, int children) {
    // A supervisor that was killed may have left this file.
    TRY(FsRoot().remove(tools_.root / ".ready"));
    if (pause_.begin()) end_left_behind();
    ASSIGN_OR_RETURN(loop_, process::Loop::open());
    TRY(watch_configuration());
    TRY(watch_pause());
    TRY(loop_->on_readable(children, [this, children] { on_children(children); }));
    const auto tell = [this](const NodeNotice& notice) {
      if (cluster_ != nullptr) cluster_->tell(notice);
    };
    supervisor_.emplace(tools_, MpsSupervisor::Options{.ask_interval = ask_interval()}, tell);
    rules_.emplace(tools_, tell);
    config_.announce();
    on_config_change();
    watch_hardware();
    const auto ended =
        loop_->run(signals, {.hangup = [this] { on_hangup(); },
                             .turn = [this] { on_turn(); },
                             .longest_sleep = [this] { return longest_sleep(); },
                             .stuck = [this] { log_.error(process::stuck_text()); }});
    if (cluster_ != nullptr) cluster_->notifier().listen({});
    hardware_.reset();
    await_driver();
    log_.info("ending the MPS control daemons");
    supervisor_.reset();
    log_.info("stopped");
    return ended;
  }

 private:
  // Daemons are asked as often as the hardware is read.
  milliseconds ask_interval() const {
    return std::chrono::ceil<milliseconds>(options_.machine_interval);
  }

  // Done even if the configuration has no MPS now, because the GPUs of such daemons are still in
  // exclusive mode.
  void end_left_behind() {
    cleaned_ = true;
    const auto resources = FsRoot().list(tools_.root / "nvidia.com");
    if (!resources && resources.error().code != Code::kNotFound) {
      log_.error(Error(resources.error())
                     .with_context("whether an earlier supervisor left daemons is not known"));
    }
    if (!resources) return;
    for (const auto& resource : *resources) {
      MpsDaemon::end_left_behind(tools_, {"nvidia.com/" + resource});
    }
  }

  Result<void> watch_configuration() {
    if (cluster_ != nullptr) {
      cluster_->notifier().listen([this] { loop_->post([this] { on_config_change(); }); });
    }
    auto paths = config_.watch_paths();
    if (paths.empty()) return {};
    ASSIGN_OR_RETURN(watch_, Watch::open(std::move(paths)));
    return loop_->on_readable(watch_->fd(), [this] {
      if (watch_->drain()) on_config_change();
    });
  }

  Result<void> watch_pause() {
    ASSIGN_OR_RETURN(pause_watch_, Watch::open({pause_.file(), mps::open_file(tools_.root)}));
    return loop_->on_readable(pause_watch_->fd(), [this] { (void)pause_watch_->drain(); });
  }

  // Lets go of GPUs and of NVML when the agent asks for them, and begins again behind it.
  void heed_pause() {
    if (pause_.is_on()) {
      if (pause_.begin()) resume();
    } else if (const auto gpus = pause_.wish()) {
      supervisor_->hold(*gpus);
      pause_.let_go();
    } else if (supervisor_->holds()) {
      resume();  // whoever asked did not wait for it
    }
  }

  // What the GPUs are now decides which daemons begin.
  void resume() {
    if (!cleaned_) end_left_behind();
    on_reading(reader_.read());
  }

  // The compute mode of GPUs is reset when daemons end.
  void await_driver() {
    const auto until = SteadyClock::now() + kLongestAwait;
    while (pause_.is_on() && !pause_.begin() && SteadyClock::now() < until) {
      std::this_thread::sleep_for(kLogInterval);
    }
  }

  void watch_hardware() {
    on_reading(reader_.read());
    hardware_.emplace(
        reader_, ask_interval(), machine_.value_or(gpu::Machine()),
        HardwareWatch::Callbacks{.reading =
                                     [this](Result<gpu::Machine> machine) {
                                       loop_->post([this, machine = std::move(machine)]() mutable {
                                         on_reading(std::move(machine));
                                       });
                                     },
                                 .links = {}});
  }

  void on_children(int children) {
    while (process::next_signal(children) != 0) {
    }
    if (bury_orphans()) supervisor_->suspect(SteadyClock::now());
  }

  void on_hangup() {
    log_.info("SIGHUP: reading everything anew");
    on_config_change();
    hardware_->read_now();
  }

  void on_turn() {
    if (config_due_ && *config_due_ <= SteadyClock::now()) on_config_change();
    heed_pause();
    if (look_at_open()) plan();
    supervisor_->tick(SteadyClock::now());
    supervisor_->pass_on_logs();
  }

  milliseconds longest_sleep() const {
    const auto now = SteadyClock::now();
    auto due = now + kLogInterval;
    if (const auto tick = supervisor_->next_tick()) due = std::min(due, *tick);
    return std::max(milliseconds(0), std::chrono::ceil<milliseconds>(due - now));
  }

  void on_config_change() {
    if (config_.look()) plan();
    config_due_.reset();
    if (const auto wait = config_.look_again()) config_due_ = SteadyClock::now() + *wait;
  }

  void on_reading(Result<gpu::Machine> machine) {
    if (pause_.is_on()) return;  // read before, or refused
    if (!machine) {
      if (said_.is_news("reading", machine.error().what)) log_.error(machine.error());
      return;
    }
    said_.forget("reading");
    if (machine_) machine = gpu::remember_lost(*machine_, *std::move(machine));
    const bool held = supervisor_->holds();
    if (held) supervisor_->release(SteadyClock::now());
    if (machine_ == *machine && !rules_->is_open() && !held) return;
    machine_ = *std::move(machine);
    plan();
  }

  // Whether the agent has other resources than before whose limits are to be left open.
  bool look_at_open() {
    const auto open = mps::read_open(tools_.root);
    if (!open) {
      if (said_.is_news("open", open.error().what)) log_.error(open.error());
      return false;
    }
    said_.forget("open");
    if (*open == open_) return false;
    open_ = *open;
    return true;
  }

  void plan() {
    if (!machine_ || pause_.is_on()) return;
    const auto& config = config_.config();
    const auto offer = offer::make_offer(*machine_, config, {});
    say(offer);
    look_at_open();
    const auto rules = rules_->settle(config.tranche.mps, *machine_, offer);
    const auto plan = mps::keep_withheld(mps::make_plan(*machine_, offer, rules, open_),
                                         supervisor_->plan(), *machine_, offer);
    rules_->say_open(rules, plan);
    const auto* none =
        plan.empty() ? "the configuration shares nothing by MPS (sharing.mps): no daemon is needed"
                     : "";
    if (said_.is_news("no plan", none)) log_.info(none);
    supervisor_->follow(plan, SteadyClock::now());
  }

  void say(const offer::Offer& offer) {
    for (const auto& withheld : offer.withheld) {
      const auto line = fmt::format("no MPS for {}", offer::describe(withheld));
      if (said_.is_news("withheld " + line, line)) log_.error(line);
    }
  }

  const config::AgentOptions& options_;
  ConfigFollower config_;
  ClusterNode* cluster_;
  const Log& log_;
  std::shared_ptr<nvml::Connection> connection_;
  nvml::Reader reader_;
  nvml::Control gpus_;
  MpsTools tools_;
  MpsPause pause_;
  bool cleaned_ = false;  // what an earlier supervisor left is ended
  std::unique_ptr<process::Loop> loop_;
  std::optional<Watch> watch_;
  std::optional<Watch> pause_watch_;
  std::optional<SteadyClock::time_point> config_due_;  // as the agent's
  std::optional<gpu::Machine> machine_;
  std::set<std::string> open_;  // mps::read_open()
  std::optional<MpsSupervisor> supervisor_;
  std::optional<MpsRules> rules_;
  SaidOnce said_;
  std::optional<HardwareWatch> hardware_;  // last: its thread ends first
};

// The agent's rules for options apply. NVIDIA's manifests give this program no root of MPS on the
// host, which it does not need: it mounts nothing.
config::Sources as_the_agents(config::Sources sources) {
  sources.environment.try_emplace("MPS_ROOT", "/run/nvidia/mps");
  return sources;
}

// Only one supervisor may run: two would end each other's daemons. nullptr: a signal asked to end
// before the lock was free.
Result<std::unique_ptr<process::ProcessLock>> take_lock(const config::AgentOptions& options,
                                                        int signals, const Log& log) {
  TRY(FsRoot().make_directories(options.mps_dir));
  return process::ProcessLock::take(
      options.mps_dir + "/.supervisor.lock", signals, [&](bool first) {
        if (first) {
          log.info(fmt::format("another mps-control-daemon serves with {}: waiting for its end",
                               options.mps_dir));
        }
        return true;
      });
}

Result<void> control_with_files(const config::Sources& sources, const config::AgentOptions& options,
                                int signals, int children, const Log& log) {
  const SystemClock clock;
  FileSource source(sources, options.config_file, options.config_name, clock);
  ASSIGN_OR_RETURN(auto loaded, read_when_whole(source, signals, log));
  if (!loaded) return {};
  MpsControl control(options, source, *std::move(loaded), sources.environment, nullptr, log);
  return control.run(signals, children);
}

Result<void> control_on_cluster(const config::Sources& sources, const config::AgentOptions& options,
                                int signals, int children, const Log& log) {
  const SystemClock clock;
  ASSIGN_OR_RETURN(const auto cluster, ClusterNode::open(sources, options, clock, log));
  TRY(FsRoot().make_directories(options.state_dir));
  // Nobody probes it: `check` looks for the daemons.
  std::optional<AgentStatus> status(
      std::in_place, std::filesystem::path(options.state_dir) / "mps-control", clock, log);
  // The agent reports what becomes of the configuration.
  ASSIGN_OR_RETURN(auto first, first_config({.source = *cluster->source(),
                                             .notifier = cluster->notifier(),
                                             .report = [](const ConfigReport&) {},
                                             .status = *status,
                                             .log = log},
                                            signals));
  status.reset();
  if (!first) return {};
  MpsControl control(options, *cluster->source(), *std::move(first), sources.environment,
                     cluster.get(), log);
  return control.run(signals, children);
}

// Loads the program's options, and logs why if they are wrong.
std::optional<config::AgentOptions> load_options(const config::Sources& sources) {
  auto options = config::load_mps_control_options(sources);
  if (options) return *std::move(options);
  Log().error(options.error());
  return std::nullopt;
}

Result<void> control(const config::Sources& sources, const config::AgentOptions& options,
                     int signals, const Log& log) {
  ASSIGN_OR_RETURN(const Descriptor children, adopt_orphans());
  ASSIGN_OR_RETURN(const auto lock, take_lock(options, signals, log));
  if (lock == nullptr) return {};
  const auto run_it = options.node_config ? control_on_cluster : control_with_files;
  return run_it(sources, options, signals, children.get(), log);
}

}  // namespace

int run_mps_control(const config::Sources& given) {
  const auto sources = as_the_agents(given);
  const auto options = load_options(sources);
  if (!options) return kExitUsage;
  const Log log(options->log_level);
  return process::run_with_signals(log, [&](int signals) {
    const auto result = control(sources, *options, signals, log);
    if (!result) log.error(config::startup_failure(sources, result.error()));
    return result ? 0 : 1;
  });
}

int check_mps_control(const config::Sources& sources) {
  const auto options = load_options(sources);
  if (!options) return kExitUsage;
  const FsRoot fs;
  const std::filesystem::path root = options->mps_dir;
  const bool ready = fs.exists(root / ".ready");
  fmt::print(ready ? stdout : stderr, "{}\n",
             ready ? "ready" : "waiting: an MPS control daemon does not serve yet, see the log");
  for (const auto& name : fs.list(root / "nvidia.com").value_or(std::vector<std::string>())) {
    const auto mark = mps::paths_of(root, {"nvidia.com/" + name}).started;
    if (!fs.exists(mark) || !mps::trouble_of(mark).empty()) continue;
    const auto service = mps::service_of(mark);
    fmt::print("nvidia.com/{}: protocol {}, {} static SM partitions\n", name, service.protocol,
               service.partitions.size());
  }
  return ready ? 0 : 1;
}

}  // namespace tranche::agent
