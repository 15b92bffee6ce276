#include "agent/compat/config_manager.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <system_error>

#include "agent/node/node_view.h"
#include "base/exit_code.h"
#include "base/fs.h"
#include "base/log.h"
#include "base/watch.h"
#include "config/choose.h"
#include "config/file/source.h"
#include "config/programs/agent_options.h"
#include "kube/connect.h"
#include "labels/feature_file.h"
#include "process/mailbox.h"
#include "process/send_signal.h"
#include "process/signals.h"

namespace tranche::agent {
namespace {

// A file of labels instead of the API server, for machines without a cluster and for tests.
constexpr const char* kLabelsVariable = "TRANCHE_NODE_LABELS_FILE";

// Reads the node's labels. kUnavailable: not known yet.
class NodeLabelSource {
 public:
  virtual ~NodeLabelSource() = default;
  virtual Result<std::map<std::string, std::string>> read() = 0;
  virtual std::vector<std::filesystem::path> watch_paths() const { return {}; }
  // No answer and no failure so far.
  virtual bool is_silent() const { return false; }
};

class LabelFile final : public NodeLabelSource {
 public:
  explicit LabelFile(std::string file) : file_(std::move(file)) {}
  Result<std::map<std::string, std::string>> read() override {
    ASSIGN_OR_RETURN(const auto text, fs_.read(file_));
    return labels::parse(text);
  }
  std::vector<std::filesystem::path> watch_paths() const override { return {file_}; }

 private:
  std::string file_;
  FsRoot fs_;
};

class LabelsOfNode final : public NodeLabelSource {
 public:
  LabelsOfNode(std::unique_ptr<cluster::Objects> objects, const std::string& node,
               process::ChangeNotifier& changed, const Log& log)
      : objects_(std::move(objects)), node_(*objects_, node, changed, log) {}
  Result<std::map<std::string, std::string>> read() override {
    ASSIGN_OR_RETURN(auto node, node_.known());
    return std::move(node).labels;
  }
  bool is_silent() const override { return !node_.synced() && !node_.failure(); }

 private:
  std::unique_ptr<cluster::Objects> objects_;
  NodeView node_;
};

class ConfigManager {
 public:
  ConfigManager(config::ConfigManagerOptions options, NodeLabelSource& labels, const Log& log)
      : options_(std::move(options)), labels_(labels), log_(log) {}

  // Reads the label and points the link at the chosen file. Signals when that file or its content
  // differs from what was applied last.
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
    return process::send_signal(fs_, options_.process_to_signal, options_.signal);
  }

  bool is_silent() const { return labels_.is_silent(); }

  std::vector<std::filesystem::path> watch_paths() const {
    auto paths = labels_.watch_paths();
    paths.emplace_back(options_.source_dir);
    return paths;
  }

 private:
  Result<config::Wish> read_wish() const {
    ASSIGN_OR_RETURN(const auto node_labels, labels_.read());
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
  NodeLabelSource& labels_;
  const Log& log_;
  FsRoot fs_;
  std::optional<std::string> applied_;  // content of the applied file
};

// Waits at most `time` milliseconds for a signal, a change of files, or a notification. False: a
// signal asked to end.
bool wait(int signals, Watch& watch, process::Mailbox& mailbox, int time) {
  do {
    std::array<pollfd, 3> fds{{{.fd = signals, .events = POLLIN, .revents = 0},
                               {.fd = watch.fd(), .events = POLLIN, .revents = 0},
                               {.fd = mailbox.fd(), .events = POLLIN, .revents = 0}}};
    const int ready = ::poll(fds.data(), fds.size(), time);
    const int signal = process::next_signal(signals);
    if (signal != 0 && signal != SIGHUP) return false;
    if (ready == 0 || !mailbox.take().empty()) return true;
  } while (!watch.drain());
  return true;
}

// Applies the configuration until a signal asks to end; with `once`, until one was chosen or
// refused. Waits for an unknown label: a choice without it would be wrong.
Result<void> follow(ConfigManager& manager, process::ChangeNotifier& notifier, bool once,
                    int signals, const Log& log) {
  constexpr int kSecond = 1000;
  ASSIGN_OR_RETURN(const auto mailbox, process::Mailbox::open());
  ASSIGN_OR_RETURN(auto watch, Watch::open(manager.watch_paths()));
  notifier.listen([&] { mailbox->post([] {}); });
  const auto started = std::chrono::steady_clock::now();
  const auto is_early = [&] {
    return manager.is_silent() && std::chrono::steady_clock::now() - started < kPatience;
  };
  std::string complaint;
  Result<void> result;
  while (true) {
    result = manager.apply();
    const bool unknown = !result && result.error().code == Code::kUnavailable;
    if (once && !unknown) break;
    if (!result && !(unknown && is_early()) && complaint != result.error().what) {
      complaint = result.error().what;
      log.error(fmt::format("{}; {}", result.error().message(),
                            unknown ? "waiting for it" : "what is in force stays"));
    }
    if (result) complaint.clear();
    if (!wait(signals, watch, *mailbox, unknown ? kSecond : -1)) break;
  }
  notifier.listen({});
  return once ? result : Result<void>();
}

Result<std::unique_ptr<NodeLabelSource>> open_labels(const config::Sources& sources,
                                                     const config::ConfigManagerOptions& options,
                                                     process::ChangeNotifier& notifier,
                                                     const Log& log) {
  const auto file = sources.environment.find(kLabelsVariable);
  if (file != sources.environment.end()) return std::make_unique<LabelFile>(file->second);
  auto objects =
      kube::connect(options.api_server, sources.environment, "tranche-config-manager", log);
  if (!objects) {
    return std::unexpected(std::move(objects).error().with_context(
        fmt::format("the label {} of this node cannot be read", options.node_label)));
  }
  return std::make_unique<LabelsOfNode>(*std::move(objects), options.node_name, notifier, log);
}

}  // namespace

int run_config_manager(const config::Sources& sources) {
  const auto options = config::load_config_manager_options(sources);
  if (!options) {
    Log().error(options.error());
    return kExitUsage;
  }
  const Log log(options->log_level);
  return process::run_with_signals(log, [&](int signals) {
    process::ChangeNotifier notifier;
    const auto labels = open_labels(sources, *options, notifier, log);
    if (!labels) {
      log.error(labels.error());
      return 1;
    }
    ConfigManager manager(*options, **labels, log);
    const auto result = follow(manager, notifier, options->oneshot, signals, log);
    if (!result) log.error(result.error());
    return result ? 0 : 1;
  });
}

}  // namespace tranche::agent
