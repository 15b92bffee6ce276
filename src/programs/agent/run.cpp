#include "agent/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "agent/agent.h"
#include "agent/config/cluster_node.h"
#include "agent/config/first_config.h"
#include "agent/holdings/book.h"
#include "agent/instances/mig_hardware.h"
#include "agent/node/node_turn.h"
#include "agent/node/pods_of_node.h"
#include "host/host_reader.h"
#include "kubelet/pod_resources_client.h"
#include "kubelet/registration.h"
#include "nvml/connection.h"
#include "nvml/events.h"
#include "nvml/library.h"
#include "nvml/process_reader.h"
#include "nvml/reader.h"
#include "nvml/telemetry_reader.h"
#include "process/signals.h"

namespace tranche::agent {
namespace {

// The driver keeps samples of processes for longer than this, and takes milliseconds to give them.
constexpr std::chrono::seconds kReadSamplesEvery{10};

std::string environment(const config::Sources& sources, const std::string& name) {
  const auto found = sources.environment.find(name);
  return found == sources.environment.end() ? std::string() : found->second;
}

gpu::XidPolicy xid_policy(const config::Sources& sources) {
  return gpu::make_xid_policy(environment(sources, "DP_DISABLE_HEALTHCHECKS"),
                              environment(sources, "DP_ENABLE_HEALTHCHECKS"));
}

Result<void> check_machine(const config::Config& config, const config::AgentOptions& options) {
  const FsRoot host(options.host_root);
  if (auto refused = host::refusal(host::read_platform(host))) return std::unexpected(*refused);
  // Only CDI strategies need to know this. Without one the library is not loaded here, but once by
  // the reader.
  const auto& driver_root = config.flags.plugin.container_driver_root;
  const bool loadable = !config.uses_cdi() || nvml::Library::load(driver_root).has_value();
  return config::validate_on_machine(config, {.nvml_loadable = loadable});
}

// Where feature labels go. NodeFeature objects (useNodeFeatureAPI) only if no flag says otherwise.
// `config` is the first configuration; a later one does not move the labels.
config::LabelOutput label_output(const config::AgentOptions& options,
                                 const config::Config& config) {
  if (options.labels == config::LabelsMode::kOff) return config::LabelOutput::kFile;
  if (options.label_output != config::LabelOutput::kAuto) return options.label_output;
  return config.flags.use_node_feature_api ? config::LabelOutput::kNodeFeature
                                           : config::LabelOutput::kFile;
}

// Null if no option needs a cluster, or if only useNodeFeatureAPI asks for one and there is none.
Result<std::unique_ptr<ClusterNode>> open_cluster(const config::Sources& sources,
                                                  const config::AgentOptions& options,
                                                  const config::Config& config, const Clock& clock,
                                                  const Log& log) {
  const bool needed = options.needs_api_server();
  if (!needed && label_output(options, config) == config::LabelOutput::kFile) return nullptr;
  auto cluster = ClusterNode::open(sources, options, clock, log);
  if (cluster || needed) return cluster;
  log.warn(
      fmt::format("no NodeFeature object is written, but the file: {}", cluster.error().message()));
  return nullptr;
}

// Waits until this agent serves the node. `cluster`: null if there is none. `can_serve`: empty if
// it always can.
NodeTurn await_node(const config::AgentOptions& options, ClusterNode* cluster, AgentStatus& status,
                    int signals, const Clock& clock, const Log& log,
                    std::function<Result<void>()> can_serve = {}) {
  TurnOptions turn{.claim = NodeClaim::of(options),
                   .take_over = options.take_over,
                   .wait =
                       [signals](int readable) {
                         return process::wait_for_signal(signals, process::ProcessLock::kRetry,
                                                         readable);
                       },
                   .tell = {},
                   .can_serve = std::move(can_serve)};
  if (cluster != nullptr) {
    turn.tell = [cluster](const NodeNotice& notice) { cluster->tell(notice); };
  }
  return await_turn(turn, status, clock, log);
}

// The Pods of this node, if a part of the agent reads them; the chart gives the permission with it.
std::unique_ptr<PodsOfNode> open_pods(const config::AgentOptions& options, ClusterNode* cluster,
                                      const Log& log) {
  const bool read = !options.arbiter_state_dir.empty() || options.mig_manager ||
                    options.dra_dynamic_mig || options.metrics.has_value();
  if (cluster == nullptr || !read) return nullptr;
  return std::make_unique<PodsOfNode>(cluster->objects(), options.node_name, log);
}

// "shop/train"; "": unknown.
std::string pod_name(PodsOfNode& pods, const host::PodProcess& process) {
  const auto all = pods.all();
  if (!all) return {};
  const auto pod = std::ranges::find(*all, process.pod_uid, cluster::uid_on_node);
  return pod == all->end() ? "" : fmt::format("{}/{}", pod->ns, pod->name);
}

// Makes and removes MIG instances; null: nothing does.
std::unique_ptr<MigHardware> open_mig_hardware(const std::shared_ptr<nvml::Connection>& connection,
                                               const config::Sources& sources,
                                               const config::AgentOptions& options,
                                               PodsOfNode* pods) {
  if (pods == nullptr || (!options.mig_manager && !options.dra_dynamic_mig)) return nullptr;
  pods->all();  // known by the time that a name is needed
  return std::make_unique<MigHardware>(
      connection, MigHardware::Options{.environment = sources.environment,
                                       .host_root = options.host_root,
                                       .state_dir = options.state_dir,
                                       .mps_dir = options.mps_dir,
                                       .pod_name = [pods](const host::PodProcess& process) {
                                         return pod_name(*pods, process);
                                       }});
}

// What runs between signals: the agent, on a suitable machine and node. `cluster`: null if there is
// none.
struct Run {
  const config::Sources& sources;
  const config::AgentOptions& options;
  ConfigSource& source;
  config::Loaded loaded;
  ClusterNode* cluster;
  NodeTurn& turn;
  int signals;
  const Clock& clock;
  const Log& log;
};

Result<void> run(Run run) {
  auto* const cluster = run.cluster;
  const auto connection =
      nvml::Connection::make({.driver_root = run.loaded.config.flags.plugin.container_driver_root,
                              .host = FsRoot(run.options.host_root),
                              .log = &run.log});
  nvml::Reader reader(connection);
  nvml::EventSource events(connection);
  kubelet::PodResourcesClient kubelet(run.options.kubelet_root);
  HolderAnswers holders(kubelet, run.clock);
  Book book(run.clock);
  const auto pods = open_pods(run.options, cluster, run.log);
  nvml::TelemetryReader telemetry(connection);
  nvml::ProcessReader processes(connection, kReadSamplesEvery);
  const auto mig_hardware = open_mig_hardware(connection, run.sources, run.options, pods.get());
  Agent::Ports ports{.reader = reader,
                     .events = events,
                     .clock = run.clock,
                     .log = run.log,
                     .outside = {.kubelet = kubelet,
                                 .holders = holders,
                                 .book = book,
                                 .register_plugin =
                                     [](const kubelet::Registration& registration,
                                        const PinnedFile& socket, const std::stop_token& stop) {
                                       return kubelet::register_plugin(registration, socket, stop);
                                     },
                                 .cluster = cluster,
                                 .pods = pods.get(),
                                 .mig_hardware = mig_hardware.get(),
                                 .telemetry = run.options.metrics ? &telemetry : nullptr,
                                 .processes = run.options.metrics ? &processes : nullptr,
                                 .label_output = label_output(run.options, run.loaded.config)},
                     .turn = &run.turn};
  if (cluster != nullptr) {
    ports.notifier = &cluster->notifier();
    ports.report = [cluster](const ConfigReport& report) {
      cluster->report(configured_condition(report));
    };
    ports.outside.tell = [cluster](const NodeNotice& notice) { cluster->tell(notice); };
    ports.outside.report = [cluster](const ConditionReport& report) { cluster->report(report); };
  }
  Agent agent(std::move(ports), {.options = run.options, .xid_policy = xid_policy(run.sources)},
              run.source, std::move(run.loaded));
  return agent.run(run.signals);
}

int end(const Result<void>& result, const Log& log) {
  if (result) return 0;
  log.error(fmt::format("error starting plugins: {}", result.error().message()));
  return 1;
}

int run_with_files(const config::Sources& sources, const config::AgentOptions& options, int signals,
                   const Clock& clock, const Log& log) {
  FileSource source(sources, options.config_file, options.config_name, clock);
  const auto refuse = [&](const Error& error) {
    log.error(source.startup_failure(error));
    return 1;
  };
  auto first = read_when_whole(source, signals, log);
  if (!first) return refuse(first.error());
  if (!*first) return 0;
  auto& loaded = **first;
  if (const auto fits = check_machine(loaded.config, options); !fits) return refuse(fits.error());
  const auto cluster = open_cluster(sources, options, loaded.config, clock, log);
  if (!cluster) return end(std::unexpected(cluster.error()), log);
  std::optional<AgentStatus> status(std::in_place, options.state_dir, clock, log);
  auto turn = await_node(options, cluster->get(), *status, signals, clock, log);
  status.reset();  // the agent answers probes itself from here on
  if (!turn.came) return 0;
  return end(
      run({sources, options, source, std::move(loaded), cluster->get(), turn, signals, clock, log}),
      log);
}

int run_on_cluster(const config::Sources& sources, const config::AgentOptions& options, int signals,
                   const Clock& clock, const Log& log) {
  const auto refuse = [&](const Error& error) {
    log.error(config::startup_failure(sources, error));
    return 1;
  };
  const auto cluster = ClusterNode::open(sources, options, clock, log);
  if (!cluster) return end(std::unexpected(cluster.error()), log);
  std::optional<AgentStatus> status(std::in_place, options.state_dir, clock, log);
  // Before the configuration, because a refused one is reported on the Node.
  SaidOnce said;
  auto turn = await_node(options, cluster->get(), *status, signals, clock, log,
                         [&] { return has_first_config(*(*cluster)->source(), said, log); });
  if (!turn.came) return 0;
  auto first = first_config(
      {.source = *(*cluster)->source(),
       .notifier = (*cluster)->notifier(),
       .report =
           [&](const ConfigReport& report) { (*cluster)->report(configured_condition(report)); },
       .status = *status,
       .log = log},
      signals);
  status.reset();  // the agent answers probes itself from here on
  if (!first) return refuse(first.error());
  if (!*first) return 0;
  auto& loaded = **first;
  if (const auto fits = check_machine(loaded.config, options); !fits) return refuse(fits.error());
  return end(run({sources, options, *(*cluster)->source(), std::move(loaded), cluster->get(), turn,
                  signals, clock, log}),
             log);
}

}  // namespace

// The exit code of `--check`, for a probe: 0 when the agent with this state folder lives or, for
// "ready", serves.
int check(const config::AgentOptions& options) {
  const auto interval = std::chrono::ceil<std::chrono::seconds>(options.machine_interval);
  const auto status = read_status(options.state_dir, 3 * interval + std::chrono::seconds(60));
  if (!status) {
    fmt::print(stderr, "{}\n", status.error().message());
    return 1;
  }
  fmt::print("{}: {}\nturns of its loop: {}\n", status->ready ? "ready" : "waiting", status->text,
             status->turns);
  return status->ready || options.check == "live" ? 0 : 1;
}

int run_agent(const config::Sources& sources) {
  // gRPC would print its own lines about errors that we handle and log, such as a missing socket.
  ::setenv("GRPC_VERBOSITY", "NONE", 0);
  const auto options = config::load_agent_options(sources);
  if (!options) {
    Log().error(options.error());
    return 1;
  }
  if (!options->check.empty()) return check(*options);
  const Log log(options->log_level);
  return process::run_with_signals(log, [&](int signals) {
    const SystemClock clock;
    const auto run_it = options->node_config ? run_on_cluster : run_with_files;
    return run_it(sources, *options, signals, clock, log);
  });
}

}  // namespace tranche::agent
