#include "agent/run.h"

#include <fmt/format.h>

#include <cstdlib>

#include "agent/agent.h"
#include "agent/cluster_parts.h"
#include "agent/config/first_config.h"
#include "agent/health/health_reporter.h"
#include "agent/mig_parts.h"
#include "agent/node/node_turn.h"
#include "cluster/mig_change.h"
#include "cluster/reasons.h"
#include "host/boot_id.h"
#include "host/host_reader.h"
#include "kubelet/pod_resources_client.h"
#include "kubelet/registration.h"
#include "nvml/connection.h"
#include "nvml/events.h"
#include "nvml/library.h"
#include "nvml/reader.h"
#include "process/periodic.h"
#include "process/signals.h"

namespace tranche::agent {
namespace {

// GPUs that fall within this time are one Event.
constexpr std::chrono::seconds kLookAtHealth{2};
constexpr std::chrono::seconds kLongestTelling{5};

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

// Where feature labels go. A wish for NodeFeature objects (useNodeFeatureAPI) counts only where no
// flag says otherwise. `config` is the first configuration; a later one does not move the labels.
config::LabelOutput label_output(const config::AgentOptions& options,
                                 const config::Config& config) {
  if (options.labels == config::LabelsMode::kOff) return config::LabelOutput::kFile;
  if (options.label_output != config::LabelOutput::kAuto) return options.label_output;
  return config.flags.use_node_feature_api ? config::LabelOutput::kNodeFeature
                                           : config::LabelOutput::kFile;
}

// Null where no option needs a cluster, or where only useNodeFeatureAPI asks for one and there is
// none.
Result<std::unique_ptr<ClusterParts>> open_cluster(const config::Sources& sources,
                                                   const config::AgentOptions& options,
                                                   const config::Config& config, const Clock& clock,
                                                   const Log& log) {
  const auto output = label_output(options, config);
  const bool needed = options.needs_api_server();
  if (!needed && output == config::LabelOutput::kFile) return nullptr;
  auto parts = ClusterParts::open(sources, options, clock, log);
  if (parts) (*parts)->label(output, options, log);
  if (parts || needed) return parts;
  log.warn(
      fmt::format("no NodeFeature object is written, but the file: {}", parts.error().message()));
  return nullptr;
}

// Waits until this agent serves the node. `cluster`: null where there is none. `can_serve`: empty
// where it always can.
NodeTurn await_node(const config::AgentOptions& options, ClusterParts* cluster, AgentStatus& status,
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
    turn.tell = [cluster](const NodeNotice& notice) { cluster->node().tell(notice); };
  }
  return await_turn(turn, status, clock, log);
}

// nullopt: the Node is not known yet.
std::optional<std::string> mig_config(const NodeView& view) {
  const auto node = view.node();
  if (!node) return std::nullopt;
  const auto label = node->labels.find(cluster::kMigConfigLabel);
  return label == node->labels.end() ? std::string() : label->second;
}

Result<void> run(const config::Sources& sources, const config::AgentOptions& options,
                 ConfigSource& source, config::Loaded loaded, ClusterParts* cluster, NodeTurn& turn,
                 int signals, const Clock& clock, const Log& log) {
  const auto connection =
      nvml::Connection::make({.driver_root = loaded.config.flags.plugin.container_driver_root,
                              .host = FsRoot(options.host_root),
                              .log = &log});
  nvml::Reader reader(connection);
  nvml::EventSource events(connection);
  kubelet::PodResourcesClient pod_resources(options.kubelet_root);
  HolderAnswers holders(pod_resources, clock);
  Book book(clock);
  const auto attempt = [&options](const Registrar::Request& request, const PinnedFile& kubelet,
                                  const std::stop_token& stop) {
    return kubelet::register_plugin({.kubelet_socket = options.kubelet_socket,
                                     .endpoint = request.endpoint,
                                     .resource = request.resource},
                                    kubelet, stop);
  };
  std::optional<HealthReporter> health;  // empty: no Events may be recorded
  std::optional<process::Periodic> health_teller;
  std::optional<MigParts> mig;
  Agent::Ports ports{.reader = reader,
                     .events = events,
                     .clock = clock,
                     .log = log,
                     .followers = {.pod_resources = pod_resources,
                                   .holders = holders,
                                   .book = book,
                                   .register_plugin = attempt},
                     .turn = &turn};
  if (cluster != nullptr) {
    auto& node = cluster->node();
    ports.notifier = &node.notifier();
    ports.report = [&node](const ConfigReport& report) {
      node.report(configured_condition(report));
    };
    auto& followers = ports.followers;
    followers.labels = cluster->labels();
    cluster->watch_arbiter(options, book, clock, log);
    if (options.mig_manager || options.dra_dynamic_mig) {
      mig.emplace(connection, node, cluster->pods(), sources, options, clock, log);
    }
    if (options.mig_manager) {
      followers.mig.emplace(mig->ports());
    } else {
      node.withdraw(cluster::condition::kTrancheMigLayout);
    }
    if (options.dra) {
      auto& view = node.node();
      followers.claims.emplace(ClaimPorts{.objects = node.objects(),
                                          .node = [&view] { return view.known(); },
                                          .boot = host::boot_id(FsRoot(options.host_root))});
      if (auto* const pods = cluster->pods()) {
        followers.claims->pod = [pods](const std::string& uid) { return pods->find(uid); };
      }
      if (options.dra_dynamic_mig) followers.claims->instances.emplace(mig->instance_ports());
    }
    followers.tell = [&node](const NodeNotice& notice) { node.tell(notice); };
    followers.report_condition = [&node](const ConditionReport& report) { node.report(report); };
    followers.mig_config = [&node] { return mig_config(node.node()); };
    followers.evict = [cluster](EvictPolicy policy) { cluster->evict(std::move(policy)); };
    followers.overrides = cluster->overrides();
    if (node.tells() || cluster->pods() != nullptr) {
      health.emplace(HealthReporter::Parts{.objects = node.objects(),
                                           .holders = holders,
                                           .book = book,
                                           .pods = cluster->pods(),
                                           .node = options.node_name,
                                           .clock = clock,
                                           .log = log});
      health_teller.emplace(kLookAtHealth,
                            [&health] { health->look({.deadline = kLongestTelling}); });
      followers.tell_health = [&health](const UnhealthyDevices& devices) {
        health->follow(devices);
      };
    }
  }
  Agent agent(std::move(ports), {.options = options, .xid_policy = xid_policy(sources)}, source,
              std::move(loaded));
  return agent.run(signals);
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
      run(sources, options, source, std::move(loaded), cluster->get(), turn, signals, clock, log),
      log);
}

int run_on_cluster(const config::Sources& sources, const config::AgentOptions& options, int signals,
                   const Clock& clock, const Log& log) {
  const auto refuse = [&](const Error& error) {
    log.error(config::startup_failure(sources, error));
    return 1;
  };
  const auto cluster = ClusterParts::open(sources, options, clock, log);
  if (!cluster) return end(std::unexpected(cluster.error()), log);
  std::optional<AgentStatus> status(std::in_place, options.state_dir, clock, log);
  // Before the configuration, because one that is refused is reported on the Node.
  SaidOnce said;
  auto turn = await_node(options, cluster->get(), *status, signals, clock, log,
                         [&] { return has_first_config(*(*cluster)->node().source(), said, log); });
  if (!turn.came) return 0;
  auto first = first_config({.source = *(*cluster)->node().source(),
                             .notifier = (*cluster)->node().notifier(),
                             .report =
                                 [&](const ConfigReport& report) {
                                   (*cluster)->node().report(configured_condition(report));
                                 },
                             .status = *status,
                             .log = log},
                            signals);
  status.reset();  // the agent answers probes itself from here on
  if (!first) return refuse(first.error());
  if (!*first) return 0;
  auto& loaded = **first;
  if (const auto fits = check_machine(loaded.config, options); !fits) return refuse(fits.error());
  (*cluster)->label(label_output(options, loaded.config), options, log);
  return end(run(sources, options, *(*cluster)->node().source(), std::move(loaded), cluster->get(),
                 turn, signals, clock, log),
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
  // gRPC would print lines of its own about errors that we handle and log, such as a missing
  // socket.
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
