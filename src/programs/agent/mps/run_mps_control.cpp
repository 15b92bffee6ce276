#include "agent/mps/run_mps_control.h"

#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <optional>
#include <thread>

#include "agent/config/cluster_node.h"
#include "agent/config/config_follower.h"
#include "agent/config/first_config.h"
#include "agent/hardware/hardware_watch.h"
#include "agent/mps/mps_control.h"
#include "base/exit_code.h"
#include "base/watch.h"
#include "host/child.h"
#include "mps/open_file.h"
#include "mps/ready_file.h"
#include "nvml/connection.h"
#include "nvml/control.h"
#include "nvml/reader.h"
#include "process/loop.h"
#include "process/process_lock.h"
#include "process/signals.h"

namespace tranche::agent {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kCommandLimit{10'000};
// Kubelet gives a Pod 30 s to end.
constexpr milliseconds kLongestAwait{10'000};

// Runs nvidia-cuda-mps-control in this process's environment, without CUDA's variables.
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

// Reaps children that nobody waited for: daemons. True: there was one.
bool bury_orphans() {
  bool any = false;
  while (::waitpid(-1, nullptr, WNOHANG) > 0) any = true;
  return any;
}

class MpsProgram {
 public:
  MpsProgram(const config::AgentOptions& options, ConfigSource& source, config::Loaded loaded,
             const std::map<std::string, std::string>& environment, ClusterNode* cluster,
             const Clock& clock, const Log& log)
      : options_(options),
        config_(source, std::move(loaded), {}, log),
        cluster_(cluster),
        clock_(clock),
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
    // A killed supervisor may have left this file.
    TRY(FsRoot().remove(tools_.root / ".ready"));
    ASSIGN_OR_RETURN(loop_, process::Loop::open());
    TRY(watch_configuration());
    TRY(watch_pause());
    TRY(loop_->on_readable(children, [this, children] { on_children(children); }));
    control_.emplace(MpsControl::Ports{.config = config_,
                                       .reader = reader_,
                                       .tools = tools_,
                                       .pause = pause_,
                                       .tell =
                                           [this](const NodeNotice& notice) {
                                             if (cluster_ != nullptr) cluster_->tell(notice);
                                           },
                                       .clock = clock_,
                                       .log = log_},
                     ask_interval());
    control_->begin();
    watch_hardware();
    const auto ended =
        loop_->run(signals, {.hangup = [this] { on_hangup(); },
                             .turn = [this] { control_->on_turn(); },
                             .longest_sleep = [this] { return control_->longest_sleep(); },
                             .stuck = [this] { log_.error(process::stuck_text()); }});
    if (cluster_ != nullptr) cluster_->notifier().listen({});
    hardware_.reset();
    await_driver();
    log_.info("ending the MPS control daemons");
    control_.reset();
    log_.info("stopped");
    return ended;
  }

 private:
  // Daemons are asked as often as the hardware is read.
  milliseconds ask_interval() const {
    return std::chrono::ceil<milliseconds>(options_.machine_interval);
  }

  Result<void> watch_configuration() {
    if (cluster_ != nullptr) {
      cluster_->notifier().listen(
          [this] { loop_->post([this] { control_->on_config_change(); }); });
    }
    auto paths = config_.watch_paths();
    if (paths.empty()) return {};
    ASSIGN_OR_RETURN(watch_, Watch::open(std::move(paths)));
    return loop_->on_readable(watch_->fd(), [this] {
      if (watch_->drain()) control_->on_config_change();
    });
  }

  // The next turn finds out what has changed in these files.
  Result<void> watch_pause() {
    ASSIGN_OR_RETURN(pause_watch_, Watch::open({pause_.file(), mps::open_file(tools_.root)}));
    return loop_->on_readable(pause_watch_->fd(), [this] { (void)pause_watch_->drain(); });
  }

  // Daemons reset their GPUs' compute mode when they end.
  void await_driver() {
    const auto until = clock_.now() + kLongestAwait;
    while (pause_.is_on() && !pause_.begin() && clock_.now() < until) {
      std::this_thread::sleep_for(MpsControl::kLogInterval);
    }
  }

  void watch_hardware() {
    hardware_.emplace(
        reader_, ask_interval(), control_->machine(),
        HardwareWatch::Callbacks{.reading =
                                     [this](Result<gpu::Machine> machine) {
                                       loop_->post([this, machine = std::move(machine)]() mutable {
                                         control_->on_reading(std::move(machine));
                                       });
                                     },
                                 .links = {}});
  }

  void on_children(int children) {
    while (process::next_signal(children) != 0) {
    }
    if (bury_orphans()) control_->on_orphan();
  }

  void on_hangup() {
    log_.info("SIGHUP: reading everything anew");
    control_->on_config_change();
    hardware_->read_now();
  }

  const config::AgentOptions& options_;
  ConfigFollower config_;
  ClusterNode* cluster_;
  const Clock& clock_;
  const Log& log_;
  std::shared_ptr<nvml::Connection> connection_;
  nvml::Reader reader_;
  nvml::Control gpus_;
  MpsTools tools_;
  MpsPause pause_;
  std::unique_ptr<process::Loop> loop_;
  std::optional<Watch> watch_;
  std::optional<Watch> pause_watch_;
  std::optional<MpsControl> control_;
  std::optional<HardwareWatch> hardware_;  // last: its thread ends first
};

// Checks options as the agent does. NVIDIA's manifests give this program no root of MPS on the
// host, which it does not need: it mounts nothing.
config::Sources as_the_agents(config::Sources sources) {
  sources.environment.try_emplace("MPS_ROOT", "/run/nvidia/mps");
  return sources;
}

// Only one supervisor may run: two would end each other's daemons. nullptr: a signal came before
// the lock was free.
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
  MpsProgram program(options, source, *std::move(loaded), sources.environment, nullptr, clock, log);
  return program.run(signals, children);
}

Result<void> control_on_cluster(const config::Sources& sources, const config::AgentOptions& options,
                                int signals, int children, const Log& log) {
  const SystemClock clock;
  ASSIGN_OR_RETURN(const auto cluster, ClusterNode::open(sources, options, clock, log));
  TRY(FsRoot().make_directories(options.state_dir));
  // Not for probes, which use `check`.
  std::optional<AgentStatus> status(
      std::in_place, std::filesystem::path(options.state_dir) / "mps-control", clock, log);
  // The agent reports about the configuration.
  ASSIGN_OR_RETURN(auto first, first_config({.source = *cluster->source(),
                                             .notifier = cluster->notifier(),
                                             .report = [](const ConfigReport&) {},
                                             .status = *status,
                                             .log = log},
                                            signals));
  status.reset();
  if (!first) return {};
  MpsProgram program(options, *cluster->source(), *std::move(first), sources.environment,
                     cluster.get(), clock, log);
  return program.run(signals, children);
}

// Loads the options; logs why they are wrong.
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
