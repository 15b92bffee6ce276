#include "agent/run.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>

#include "agent/agent.h"
#include "agent/signals.h"
#include "host/host_reader.h"
#include "kubelet/pod_resources_client.h"
#include "kubelet/registration.h"
#include "nvml/connection.h"
#include "nvml/events.h"
#include "nvml/library.h"
#include "nvml/reader.h"

namespace tranche::agent {
namespace {

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
  // Only CDI strategies ask; else the reader loads the library, once.
  const auto& driver_root = config.flags.plugin.container_driver_root;
  const bool loadable = !config.uses_cdi() || nvml::Library::load(driver_root).has_value();
  return config::validate_on_machine(config, {.nvml_loadable = loadable});
}

Result<void> run(const config::Sources& sources, const config::AgentOptions& options,
                 config::Loaded loaded, const Log& log) {
  ASSIGN_OR_RETURN(const int signals, open_signals());
  const SystemClock clock;
  const auto connection =
      nvml::Connection::make({.driver_root = loaded.config.flags.plugin.container_driver_root,
                              .host = FsRoot(options.host_root),
                              .log = &log});
  nvml::Reader reader(connection);
  nvml::EventSource events(connection);
  kubelet::PodResourcesClient pod_resources(options.kubelet_root + "/pod-resources/kubelet.sock");
  const auto attempt = [&options](const Registrar::Request& request, const PinnedFile& kubelet,
                                  const std::stop_token& stop) {
    return kubelet::register_plugin({.kubelet_socket = options.kubelet_socket,
                                     .endpoint = request.endpoint,
                                     .resource = request.resource},
                                    kubelet, stop);
  };
  Agent agent({.reader = reader,
               .events = events,
               .pod_resources = pod_resources,
               .register_plugin = attempt,
               .clock = clock,
               .log = log},
              {.options = options, .xid_policy = xid_policy(sources)},
              ConfigSource(sources, options.config_file, options.config_name), std::move(loaded));
  auto result = agent.run(signals);
  ::close(signals);
  return result;
}

}  // namespace

int run_agent(const config::Sources& sources) {
  // gRPC prints its own lines for what we handle and log ourselves (a socket that is not there).
  ::setenv("GRPC_VERBOSITY", "NONE", 0);
  const auto options = config::load_agent_options(sources);
  if (!options) {
    Log().error(options.error());
    return 1;
  }
  const Log log(options->log_level);
  const ConfigSource source(sources, options->config_file, options->config_name);
  const auto refuse = [&](const Error& error) {
    log.error(source.startup_failure(error));
    return 1;
  };
  auto loaded = source.read();
  if (!loaded) return refuse(loaded.error());
  if (const auto fits = check_machine(loaded->config, *options); !fits) return refuse(fits.error());
  if (const auto result = run(sources, *options, *std::move(loaded), log); !result) {
    log.error(fmt::format("error starting plugins: {}", result.error().message()));
    return 1;
  }
  return 0;
}

}  // namespace tranche::agent
