#include "agent/limits/finding_reporter.h"

#include <fmt/format.h>

#include <utility>

namespace tranche::agent {
FindingReporter::FindingReporter(cluster::Objects& objects, const NodeView& node, PodsOfNode& pods,
                                 Book& book, Options options, const Clock& clock, const Log& log)
    : node_(node),
      pods_(pods),
      book_(book),
      options_(std::move(options)),
      clock_(clock),
      log_(log),
      writer_(objects, node.name(), "the controller cannot be asked to evict", clock, log),
      status_(options_.arbiter_dir),
      events_(objects, "tranche.dev/agent", node.name(), clock, log) {}

void FindingReporter::follow(EvictPolicy policy) {
  const std::scoped_lock lock(mutex_);
  policy_ = std::move(policy);
}

void FindingReporter::look(const cluster::Call& call) {
  if (!process::LivenessFile::check(options_.arbiter_dir / process::LivenessFile::kArbiters, clock_,
                                    "arbiter")) {
    status_.forget();
  } else {
    read_status();
  }
  FindingNotices notices;
  if (!status_.status().findings.empty()) {
    // Without permission to read Pods there are none; the node's Events are reported all the same.
    const auto pods = pods_.all();
    if (!pods && !pods_.is_refused()) return;  // the Pods will be read soon
    EvictPolicy policy;
    if (options_.asks) {
      const std::scoped_lock lock(mutex_);
      policy = policy_;
    }
    notices = describe_findings(status_.status(), pods.value_or(std::vector<cluster::Pod>()),
                                policy, node_.name());
  }
  book_.observe(std::move(notices.ungranted));
  events_.tell(notices.standing, call);
  ask(std::move(notices.evictions), call);
}

void FindingReporter::read_status() {
  const auto read = status_.refresh();
  if (read) {
    if (*read) complaint_.clear();
    return;
  }
  const auto message = read.error().message();
  if (message != complaint_) {
    log_.warn(fmt::format("{}: {}; what the arbiter finds is not told until it can be read",
                          status_.file().string(), message));
  }
  complaint_ = message;
}

// Writes the requests into the Node when they differ, and renews them before they expire.
void FindingReporter::ask(std::vector<cluster::EvictionRequest> wanted, const cluster::Call& call) {
  if (wanted.size() > cluster::EvictionRequests::kMost) {
    wanted.resize(cluster::EvictionRequests::kMost);
  }
  const auto now = clock_.now();
  const auto node = node_.node();
  if (!node) return;
  const bool stands = node->annotations.contains(cluster::kEvictRequestsAnnotation) ||
                      node->labels.contains(cluster::kEvictRequestsLabel);
  const bool fresh = asked_ && asked_for_ == wanted && stands &&
                     now - *asked_ < cluster::EvictionRequests::kRefresh;
  if (wanted.empty() ? !stands : fresh) return;
  if (!write(wanted, call)) return;
  for (const auto& one : wanted) {
    if (std::ranges::find(asked_for_, one) != asked_for_.end()) continue;
    log_.info(fmt::format("asking the controller to evict {}/{}: {} on {}", one.ns, one.name,
                          to_string(one.reason), one.device));
  }
  asked_ = now;
  asked_for_ = std::move(wanted);
}

bool FindingReporter::write(const std::vector<cluster::EvictionRequest>& wanted,
                            const cluster::Call& call) {
  std::optional<std::string> label;
  std::optional<std::string> annotation;
  if (!wanted.empty()) {
    label = cluster::kEvictRequestsLabelValue;
    annotation = cluster::encode({.written_at = clock_.wall_now(), .pods = wanted});
  }
  return writer_.write({.labels = {{cluster::kEvictRequestsLabel, label}},
                        .annotations = {{cluster::kEvictRequestsAnnotation, annotation}}},
                       call);
}

}  // namespace tranche::agent
