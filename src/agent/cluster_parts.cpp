#include "agent/cluster_parts.h"

#include <fmt/format.h>
#include <poll.h>

#include <array>

#include "agent/mailbox.h"
#include "agent/signals.h"
#include "kube/connect.h"

namespace tranche::agent {
namespace {

// How soon a start that waits looks again whether the API server has failed to answer.
constexpr std::chrono::milliseconds kLook{250};

// Waits for a signal, a ring of the bell, or a moment.
void wait(int signals, int mailbox) {
  std::array<pollfd, 2> fds{{{.fd = signals, .events = POLLIN, .revents = 0},
                             {.fd = mailbox, .events = POLLIN, .revents = 0}}};
  (void)!::poll(fds.data(), fds.size(), static_cast<int>(kLook.count()));
}

}  // namespace

Result<std::unique_ptr<ClusterParts>> ClusterParts::open(const config::Sources& sources,
                                                         const config::AgentOptions& options,
                                                         config::LabelOutput labels,
                                                         const Clock& clock, const Log& log) {
  if (options.node_name.empty()) {
    return fail(Code::kInvalidArgument, "the node's name is not known",
                "set NODE_NAME by the downward API (fieldRef spec.nodeName)");
  }
  std::unique_ptr<ClusterParts> parts(new ClusterParts());
  ASSIGN_OR_RETURN(parts->objects_,
                   kube::connect(options.kubeconfig, sources.environment, "tranche-agent"));
  auto& objects = *parts->objects_;
  if (options.node_config || labels == config::LabelOutput::kNode) {
    parts->node_.emplace(objects, options.node_name, parts->bell_, log);
  }
  if (options.node_config) {
    parts->source_.emplace(sources,
                           ClusterSource::Options{.choice = *options.node_config,
                                                  .folder = options.config_file,
                                                  .state_dir = options.state_dir},
                           objects, *parts->node_, parts->bell_, clock, log);
    parts->reporter_.emplace(objects, *parts->node_, clock, log);
  }
  if (labels == config::LabelOutput::kNode) {
    parts->labels_ = std::make_unique<NodeLabels>(objects, *parts->node_, log);
  } else if (labels == config::LabelOutput::kNodeFeature) {
    parts->labels_ = std::make_unique<NodeFeatureLabels>(
        objects,
        NodeFeatureWriter::Options{.ns = options.kube_namespace,
                                   .node_name = options.node_name,
                                   .pod_name = options.pod_name},
        parts->bell_, log);
  }
  return parts;
}

Result<std::optional<config::Loaded>> first_config(ClusterParts& parts, int signals,
                                                   StatusFile& status, const Log& log) {
  ASSIGN_OR_RETURN(const auto mailbox, Mailbox::open());
  parts.bell().listen([&] { mailbox->post([] {}); });
  std::string said;
  std::optional<config::Loaded> result;
  while (!result) {
    auto loaded = parts.source()->read();
    if (loaded) {
      result = *std::move(loaded);
      break;
    }
    const auto& error = loaded.error();
    const bool refused = error.code != Code::kUnavailable;
    if (refused) {
      parts.report({.applied = false, .message = error.message()});
      if (auto kept = parts.source()->last_good()) {
        log.error(fmt::format("{}; what was in force last stays in force ({})", error.message(),
                              parts.source()->origin()));
        result = *std::move(kept);
        break;
      }
    }
    if (said != error.what) {
      log.write(
          refused ? LogLevel::kError : LogLevel::kInfo,
          fmt::format("{}; no GPU is advertised until there is a configuration", error.message()));
      said = error.what;
    }
    status.beat({.ready = false, .text = error.what});
    wait(signals, mailbox->fd());
    mailbox->take();
    if (ends_process(next_signal(signals))) break;
  }
  parts.bell().listen({});
  return result;
}

}  // namespace tranche::agent
