#include "agent/compat/feature_discovery.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>

#include "agent/config/config_source.h"
#include "agent/config/first_config.h"
#include "agent/labels/node_feature_writer.h"
#include "base/exit_code.h"
#include "config/programs/agent_options.h"
#include "host/host_reader.h"
#include "kube/connect.h"
#include "labels/feature_file.h"
#include "labels/labels.h"
#include "nvml/connection.h"
#include "nvml/reader.h"
#include "process/loop.h"
#include "process/signals.h"

namespace tranche::agent {
namespace {

// Why there are no labels, worded as NVIDIA's chain of causes.
Error no_machine(Error error) {
  if (error.what.starts_with(nvml::kNoLibrary)) {
    return std::move(error).with_context(
        "failed to create resource manager: unsupported strategy auto");
  }
  const bool starts = !error.what.starts_with(nvml::kInitFailed);
  return std::move(error).with_context(
      starts ? "error creating labeler: error getting devices"
             : "error creating labeler: failed to initialize resource manager");
}

// A closed pipe ends this program, as every Go program. The signal alone does not:
// process/signals.h.
Result<void> print(const std::string& text) {
  if (std::fputs(text.c_str(), stdout) >= 0 && std::fflush(stdout) == 0) return {};
  const int error = errno;
  if (error == EPIPE) {
    ::signal(SIGPIPE, SIG_DFL);
    ::raise(SIGPIPE);
  }
  return std::unexpected(errno_error(error, "write labels to standard output"));
}

class FeatureDiscovery {
 public:
  FeatureDiscovery(config::FeatureDiscoveryOptions options,
                   std::map<std::string, std::string> environment, FileSource source,
                   const Log& log)
      : options_(std::move(options)),
        environment_(std::move(environment)),
        source_(std::move(source)),
        log_(log) {}

  // Reads the configuration again, with a new timestamp for the labels. While somebody is writing
  // the file, the one in force stays, and retry_after() says when to call this again.
  Result<void> configure() {
    auto loaded = source_.read();
    if (loaded) return take(*std::move(loaded));
    if (!retry_after()) return chain(loaded.error());
    log_.info(loaded.error().message());
    return {};
  }

  // For the first time: waits while somebody is writing the file. False: a signal asked to stop.
  Result<bool> configure_first(int signals) {
    auto loaded = read_when_whole(source_, signals, log_);
    if (!loaded) return chain(loaded.error());
    if (!*loaded) return false;
    TRY(take(**std::move(loaded)));
    return true;
  }

  std::optional<std::chrono::milliseconds> retry_after() const { return source_.retry_after(); }

  Result<void> write_once() {
    ASSIGN_OR_RETURN(const auto machine, read_machine());
    const auto timestamp =
        gfd().no_timestamp ? std::nullopt : std::optional<std::int64_t>(timestamp_);
    ASSIGN_OR_RETURN(const auto set,
                     labels::make_labels(machine, loaded_.config, {.timestamp = timestamp}));
    if (set.warnings != warned_) {
      for (const auto& warning : set.warnings) log_.warn(warning);
      warned_ = set.warnings;
    }
    if (node_feature_) return node_feature_->write(set.labels);
    if (gfd().output_file.empty()) return print(labels::render(set.labels));
    auto written = file().write(set.labels);
    if (written) return {};
    return std::unexpected(std::move(written).error().with_context(
        fmt::format("error atomically writing file '{}'", gfd().output_file)));
  }

  void finish() const {
    if (node_feature_ || !labels::removed_on_exit(gfd())) return;
    if (const auto removed = file().remove(); !removed) log_.warn(removed.error());
  }

  const config::GfdFlags& gfd() const { return loaded_.config.flags.gfd; }

 private:
  // An unreadable configuration, worded as NVIDIA's chain of causes.
  std::unexpected<Error> chain(const Error& error) const {
    return fail(error.code, source_.startup_failure(error));
  }

  Result<void> take(config::Loaded loaded) {
    loaded_ = std::move(loaded);
    for (const auto& warning : loaded_.warnings) log_.warn(warning.message);
    log_.info(fmt::format("Running with config:\n{}", loaded_.json));
    TRY(choose_place());
    reader_.emplace(nvml::Connection::make({.driver_root = options_.container_driver_root,
                                            .host = FsRoot(options_.host_root),
                                            .log = &log_}));
    timestamp_ = std::chrono::duration_cast<std::chrono::seconds>(
                     std::chrono::system_clock::now().time_since_epoch())
                     .count();
    return {};
  }

  const config::Flags& flags() const { return loaded_.config.flags; }
  labels::FeatureFile file() const { return {FsRoot(), gfd().output_file}; }

  // Labels go to a NodeFeature object if the configuration asks for one, else to the file, also for
  // `tranche labels` on a machine without a cluster.
  Result<void> choose_place() {
    static constexpr const char* kFile = "or write a file with --use-node-feature-api=false";
    static constexpr const char* kFileInstead = "write a file with --use-node-feature-api=false";
    node_feature_.reset();
    if (!flags().use_node_feature_api) return {};
    if (options_.node_name.empty() && !options_.needs_node_feature) return {};
    if (options_.node_name.empty() || options_.kube_namespace.empty()) {
      return fail(Code::kInvalidArgument,
                  fmt::format("failed to create label outputer: required flag {} not set",
                              options_.node_name.empty() ? "node-name" : "namespace"),
                  fmt::format("set NODE_NAME and NAMESPACE by the downward API, {}", kFile));
    }
    auto objects = kube::connect(options_.api_server, environment_, "tranche-labels", log_);
    if (!objects) {
      auto error = std::move(objects).error().with_context(
          "failed to create clientsets: create client configuration");
      error.hint = error.hint.empty() ? kFileInstead : fmt::format("{}, {}", error.hint, kFile);
      return std::unexpected(std::move(error));
    }
    objects_ = *std::move(objects);
    node_feature_.emplace(*objects_,
                          NodeFeatureWriter::Options{.ns = options_.kube_namespace,
                                                     .node_name = options_.node_name,
                                                     .pod_name = options_.pod_name},
                          log_);
    return {};
  }

  Result<gpu::Machine> read_machine() {
    auto machine = reader_->read();
    if (!machine && flags().fail_on_init_error) {
      return std::unexpected(no_machine(std::move(machine).error()));
    }
    if (!machine) {
      log_.warn(fmt::format("{}; labels without GPUs (failOnInitError is false)",
                            machine.error().message()));
      machine = gpu::Machine();
    }
    for (const auto& warning : machine->warnings) log_.warn(warning);
    machine->host = host::read_host(FsRoot(options_.host_root), gfd().machine_type_file);
    return machine;
  }

  config::FeatureDiscoveryOptions options_;
  std::map<std::string, std::string> environment_;
  FileSource source_;
  const Log& log_;
  config::Loaded loaded_;
  std::unique_ptr<cluster::Objects> objects_;
  std::optional<NodeFeatureWriter> node_feature_;  // nullopt: labels go to the file
  std::optional<nvml::Reader> reader_;
  std::int64_t timestamp_ = 0;
  std::vector<std::string> warned_;
};

// -1: without an interval only a signal wakes the loop.
std::chrono::milliseconds sleep_of(const FeatureDiscovery& discovery) {
  using std::chrono::milliseconds;
  if (const auto again = discovery.retry_after()) return *again;
  const auto interval = discovery.gfd().sleep_interval;
  if (!interval) return milliseconds(-1);
  return std::clamp(std::chrono::ceil<milliseconds>(*interval), milliseconds(1),
                    milliseconds(1'000'000'000));
}

Result<void> run(FeatureDiscovery& discovery, int signals, const Log& log) {
  ASSIGN_OR_RETURN(const bool configured, discovery.configure_first(signals));
  if (!configured) return {};
  TRY(discovery.write_once());
  if (discovery.gfd().oneshot) return {};
  const auto tell = [&](const Result<void>& result) {
    if (!result) log.error(result.error());
  };
  ASSIGN_OR_RETURN(const auto loop, process::Loop::open());
  const auto ended = loop->run(signals, {.hangup = [&] { tell(discovery.configure()); },
                                         .turn =
                                             [&] {
                                               if (discovery.retry_after())
                                                 tell(discovery.configure());
                                               tell(discovery.write_once());
                                             },
                                         .longest_sleep = [&] { return sleep_of(discovery); },
                                         .stuck = [&] { log.error(process::stuck_text()); }});
  discovery.finish();
  return ended;
}

}  // namespace

int run_feature_discovery(const config::Sources& sources) {
  const auto options = config::load_feature_discovery_options(sources);
  if (!options) {
    Log().error(options.error());
    return kExitUsage;
  }
  const Log log(options->log_level);
  return process::run_with_signals(log, [&](int signals) {
    const SystemClock clock;
    const FileSource source(sources, options->config_file, options->config_name, clock);
    FeatureDiscovery discovery(*options, sources.environment, source, log);
    const auto result = run(discovery, signals, log);
    if (!result) log.error(result.error());
    return result ? 0 : 1;
  });
}

}  // namespace tranche::agent
