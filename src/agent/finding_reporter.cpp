#include "agent/finding_reporter.h"

#include <fmt/format.h>

#include <charconv>
#include <nlohmann/json.hpp>
#include <utility>

namespace tranche::agent {
namespace {

using nlohmann::json;

constexpr std::chrono::seconds kPause{30};  // after a write that failed

}  // namespace

FindingReporter::FindingReporter(cluster::Objects& objects, const NodeView& node, PodsOfNode& pods,
                                 Options options, const Clock& clock, const Log& log)
    : objects_(objects),
      node_(node),
      pods_(pods),
      options_(std::move(options)),
      clock_(clock),
      log_(log),
      events_(objects, "tranche.dev/agent", node.name(), clock, log) {}

void FindingReporter::follow(EvictPolicy policy) {
  const std::scoped_lock lock(mutex_);
  policy_ = std::move(policy);
}

void FindingReporter::look(const cluster::Call& call) {
  if (!arbiter_lives()) {
    status_ = {};
    identity_ = {};
  } else {
    read_status();
  }
  FindingNotices notices;
  if (!status_.findings.empty()) {
    // Without leave to read Pods there are none, and the node's Events are told all the same.
    const auto pods = pods_.all();
    if (!pods && !pods_.is_refused()) return;  // soon
    EvictPolicy policy;
    if (options_.asks) {
      const std::scoped_lock lock(mutex_);
      policy = policy_;
    }
    notices = describe_findings(status_, pods.value_or(std::vector<cluster::Pod>()), policy,
                                node_.name());
  }
  events_.tell(notices.matters, call);
  ask(std::move(notices.evictions), call);
}

// The file holds the time of the last sign, in seconds.
bool FindingReporter::arbiter_lives() const {
  const auto text = fs_.read(options_.arbiter_dir / "alive");
  if (!text) return false;
  std::int64_t seconds = 0;
  const auto* const end = text->data() + text->size();
  if (std::from_chars(text->data(), end, seconds).ec != std::errc{}) return false;
  const auto now =
      std::chrono::duration_cast<std::chrono::seconds>(clock_.wall_now().time_since_epoch());
  return now - std::chrono::seconds(seconds) <= kAlive;
}

void FindingReporter::read_status() {
  const auto file = options_.arbiter_dir / "status.json";
  const auto identity = identify(file);
  if (identity == identity_) return;
  const auto text = fs_.read(file, kLongestStatus);
  auto status = text ? limit::decode_status(*text) : std::unexpected(text.error());
  identity_ = identity;
  if (status) {
    status_ = *std::move(status);
    complaint_.clear();
    return;
  }
  const auto message = status.error().message();
  if (message != complaint_) {
    log_.warn(fmt::format("{}: {}; what the arbiter finds is not told until it can be read",
                          file.string(), message));
  }
  complaint_ = message;
}

// Writes what differs from what stands in the Node, and again before it is too old.
void FindingReporter::ask(std::vector<cluster::EvictionRequest> wanted, const cluster::Call& call) {
  if (wanted.size() > cluster::EvictionRequests::kMost) {
    wanted.resize(cluster::EvictionRequests::kMost);
  }
  const auto now = clock_.now();
  const auto node = node_.node();
  if (!node || now < write_not_before_) return;
  const bool stands = node->annotations.contains(cluster::kEvictRequestsAnnotation) ||
                      node->labels.contains(cluster::kEvictRequestsLabel);
  const bool fresh = asked_ && asked_for_ == wanted && stands &&
                     now - *asked_ < cluster::EvictionRequests::kRefresh;
  if (wanted.empty() ? !stands : fresh) return;
  if (const auto done = write(wanted, call); !done) {
    write_not_before_ = now + kPause;
    const auto message = done.error().message();
    if (std::exchange(write_complaint_, message) != message) {
      log_.warn(
          fmt::format("the controller cannot be asked to evict: {}; it is tried again", message));
    }
    return;
  }
  write_complaint_.clear();
  for (const auto& one : wanted) {
    if (std::ranges::find(asked_for_, one) != asked_for_.end()) continue;
    log_.info(fmt::format("asking the controller to evict {}/{}: {} on {}", one.ns, one.name,
                          to_string(one.reason), one.device));
  }
  asked_ = now;
  asked_for_ = std::move(wanted);
}

// By the Node's status, as kubelet writes annotations: leave to write the Node's spec is not
// needed.
Result<void> FindingReporter::write(const std::vector<cluster::EvictionRequest>& wanted,
                                    const cluster::Call& call) {
  json label;  // null: taken away
  json annotation;
  if (!wanted.empty()) {
    label = cluster::kEvictRequestsLabelValue;
    annotation = cluster::encode({.written_at = clock_.wall_now(), .pods = wanted});
  }
  const json patch = {{"metadata",
                       {{"labels", {{cluster::kEvictRequestsLabel, label}}},
                        {"annotations", {{cluster::kEvictRequestsAnnotation, annotation}}}}}};
  const auto patched = objects_.patch(cluster::kNode, {.ns = "", .name = node_.name()},
                                      {.json = patch.dump(), .subresource = "status"}, call);
  if (!patched) return std::unexpected(patched.error());
  return {};
}

}  // namespace tranche::agent
