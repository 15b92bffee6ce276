#include "agent/config_manager.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <optional>
#include <system_error>

#include "agent/process_signal.h"
#include "agent/signals.h"
#include "base/fs.h"
#include "base/log.h"
#include "base/watch.h"
#include "config/agent_options.h"
#include "config/choose.h"
#include "config/source.h"
#include "labels/feature_file.h"

namespace tranche::agent {
namespace {

constexpr const char* kLabelsVariable = "TRANCHE_NODE_LABELS_FILE";

class ConfigManager {
 public:
  ConfigManager(config::ConfigManagerOptions options, std::string labels_file, const Log& log)
      : options_(std::move(options)), labels_file_(std::move(labels_file)), log_(log) {}

  // Reads the label and makes the link follow it; signals when the chosen file or its content is
  // not what was applied last.
  Result<void> apply() {
    ASSIGN_OR_RETURN(const auto names, config::config_names(fs_, options_.source_dir));
    ASSIGN_OR_RETURN(const auto wish, read_wish());
    ASSIGN_OR_RETURN(const auto choice, config::choose(wish, names));
    const auto target = choice.name ? std::filesystem::path(options_.source_dir) / *choice.name
                                    : std::filesystem::path("/dev/null");
    ASSIGN_OR_RETURN(const auto content, read_content(choice));
    const bool same_link = fs_.read_link(options_.destination).value_or("") == target.string();
    if (same_link && (!applied_ || *applied_ == content)) {
      if (!applied_) log_.info("Already configured. Skipping update...");
      applied_ = content;
      return {};
    }
    TRY(point_at(target));
    log_.info(fmt::format("{} now points at {} ({})", options_.destination, target.string(),
                          choice.reason));
    applied_ = content;
    if (!options_.send_signal) return {};
    return signal_process(fs_, options_.process_to_signal, options_.signal);
  }

  std::vector<std::filesystem::path> watch_paths() const {
    return {options_.source_dir, labels_file_};
  }

 private:
  Result<config::Wish> read_wish() const {
    ASSIGN_OR_RETURN(const auto text, fs_.read(labels_file_));
    ASSIGN_OR_RETURN(const auto node_labels, labels::parse(text));
    config::Wish wish{.label_key = options_.node_label, .fallbacks = options_.fallbacks};
    if (const auto found = node_labels.find(options_.node_label); found != node_labels.end()) {
      wish.label = found->second;
    }
    if (!options_.default_config.empty()) wish.default_name = options_.default_config;
    return wish;
  }

  Result<std::string> read_content(const config::Choice& choice) const {
    if (!choice.name) return std::string();
    return fs_.read(std::filesystem::path(options_.source_dir) / *choice.name,
                    config::kMaxConfigBytes);
  }

  Result<void> point_at(const std::filesystem::path& target) const {
    const std::filesystem::path link = options_.destination;
    const auto temporary = link.string() + ".new";
    TRY(fs_.remove(temporary));
    if (::symlink(target.c_str(), temporary.c_str()) != 0) {
      return std::unexpected(errno_error(errno, "link " + temporary));
    }
    if (::rename(temporary.c_str(), link.c_str()) != 0) {
      return std::unexpected(errno_error(errno, "rename to " + link.string()));
    }
    return {};
  }

  config::ConfigManagerOptions options_;
  std::string labels_file_;
  const Log& log_;
  FsRoot fs_;
  std::optional<std::string> applied_;  // content of the chosen file when it was applied last
};

Result<void> follow(ConfigManager& manager, int signals, const Log& log) {
  ASSIGN_OR_RETURN(auto watch, Watch::open(manager.watch_paths()));
  while (true) {
    if (const auto result = manager.apply(); !result) {
      log.error(fmt::format("{}; what is in force stays", result.error().message()));
    }
    pollfd fds[] = {{.fd = signals, .events = POLLIN, .revents = 0},
                    {.fd = watch.fd(), .events = POLLIN, .revents = 0}};
    do {
      (void)!::poll(fds, 2, -1);
      const int signal = next_signal(signals);
      if (signal != 0 && signal != SIGHUP) return {};
    } while (!watch.drain());
  }
}

}  // namespace

int run_config_manager(const config::Sources& sources) {
  const auto options = config::load_config_manager_options(sources);
  if (!options) {
    Log().error(options.error());
    return 1;
  }
  const Log log(options->log_level);
  const auto variable = sources.environment.find(kLabelsVariable);
  if (variable == sources.environment.end()) {
    log.error(fmt::format(
        "the label {} of this node cannot be read: this release has no Kubernetes client; name a "
        "file of key=value lines in {}, or choose with 'tranche agent --config-file DIR "
        "--config-name NAME'",
        options->node_label, kLabelsVariable));
    return 1;
  }
  const auto signals = open_signals();
  if (!signals) {
    log.error(signals.error());
    return 1;
  }
  ConfigManager manager(*options, variable->second, log);
  const auto result = options->oneshot ? manager.apply() : follow(manager, *signals, log);
  ::close(*signals);
  if (!result) log.error(result.error());
  return result ? 0 : 1;
}

}  // namespace tranche::agent
