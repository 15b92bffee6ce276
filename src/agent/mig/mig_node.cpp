#include "agent/mig/mig_node.h"

#include <algorithm>
#include <array>
#include <utility>

namespace tranche::agent {
namespace {

using cluster::value_of;

// The clients that NVIDIA's MIG manager pauses, by the operator's label of each.
constexpr std::array kClients = {"nvidia.com/gpu.deploy.device-plugin",
                                 "nvidia.com/gpu.deploy.gpu-feature-discovery",
                                 "nvidia.com/gpu.deploy.dcgm-exporter",
                                 "nvidia.com/gpu.deploy.dcgm", "nvidia.com/gpu.deploy.nvsm"};

void set_label(const cluster::Node& node, NodeWriter::Values& labels, const char* name,
               const std::string& value) {
  if (value_of(node.labels, name) == value) return;
  labels[name] = value.empty() ? std::nullopt : std::optional(value);
}

void pause_clients(bool pause, const cluster::Node& node, NodeWriter::Values& labels) {
  const std::string from = pause ? "true" : kPausedForMig;
  for (const auto* client : kClients) {
    if (value_of(node.labels, client) == from) labels[client] = pause ? kPausedForMig : "true";
  }
}

}  // namespace

std::optional<NodeWriter::Change> difference(const MigTexts& texts, const cluster::Node& node) {
  NodeWriter::Change change;
  if (texts.state) set_label(node, change.labels, cluster::kMigStateLabel, *texts.state);
  set_label(node, change.labels, cluster::kMigChangeLabel,
            texts.change ? cluster::kMigChangeLabelValue : "");
  const bool was_open = node.annotations.contains(cluster::kMigChangeAnnotation);
  if (texts.change) {
    auto text = cluster::encode(*texts.change);
    if (value_of(node.annotations, cluster::kMigChangeAnnotation) != text) {
      change.annotations[cluster::kMigChangeAnnotation] = std::move(text);
    }
  }
  if (!texts.change && was_open) {
    change.annotations[cluster::kMigChangeAnnotation] = std::nullopt;
  }
  // Somebody else's pause is not ours to end.
  if (texts.change || was_open) pause_clients(texts.pause, node, change.labels);
  if (change.labels.empty() && change.annotations.empty()) return std::nullopt;
  return change;
}

cluster::MigPhase phase_for_controller(mig::Journal::Phase phase) {
  using From = mig::Journal::Phase;
  if (phase == From::kAsking) return cluster::MigPhase::kAsking;
  if (phase == From::kDraining) return cluster::MigPhase::kDraining;
  return phase == From::kFinished ? cluster::MigPhase::kFinished : cluster::MigPhase::kChanging;
}

std::optional<mig::Journal> journal_on(const cluster::Node& node) {
  const auto& text = value_of(node.annotations, cluster::kMigChangeAnnotation);
  if (text.empty()) return std::nullopt;
  const auto change = cluster::decode_mig_change(text);
  if (!change) return std::nullopt;
  auto journal = mig::decode_journal(change->journal);
  return journal ? std::optional(*std::move(journal)) : std::nullopt;
}

std::optional<cluster::MigDrain> answer_on(const cluster::Node& node, const std::string& id) {
  const auto& text = value_of(node.annotations, cluster::kMigDrainAnnotation);
  if (text.empty()) return std::nullopt;
  auto drain = cluster::decode_mig_drain(text);
  if (!drain || drain->id != id) return std::nullopt;
  return *std::move(drain);
}

std::optional<mig::Journal> later(std::optional<mig::Journal> a, std::optional<mig::Journal> b) {
  if (!a || !b) return a ? std::move(a) : std::move(b);
  if (a->id == b->id) return a->phase < b->phase ? std::move(b) : std::move(a);
  return a->started < b->started ? std::move(b) : std::move(a);
}

}  // namespace tranche::agent
