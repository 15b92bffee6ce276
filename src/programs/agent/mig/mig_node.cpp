#include "agent/mig/mig_node.h"

#include <algorithm>
#include <utility>

#include "agent/mig/mig_clients.h"
#include "agent/mig/mig_files.h"
#include "base/utf8.h"

namespace tranche::agent {
namespace {

using cluster::value_of;

void set_label(const cluster::Node& node, NodeWriter::Values& labels, const char* name,
               const std::string& value) {
  if (value_of(node.labels, name) == value) return;
  labels[name] = value.empty() ? std::nullopt : std::optional(value);
}

// Limit for an annotation and for a trouble in it, in bytes. The condition has the whole text.
constexpr std::size_t kLongestText = mig::kLongestJournal;
constexpr std::size_t kLongestTrouble = 500;

// Written together with the state label, so the label counts as seen.
std::string text_for_node(MigOutcome outcome) {
  outcome.told = true;
  outcome.trouble = std::string(utf8_prefix(outcome.trouble, kLongestTrouble));
  return encode(outcome);
}

void set_annotation(const cluster::Node& node, NodeWriter::Values& annotations, const char* name,
                    std::optional<std::string> text) {
  const auto found = node.annotations.find(name);
  const auto now =
      found == node.annotations.end() ? std::nullopt : std::optional<std::string>(found->second);
  if (now != text) annotations[name] = std::move(text);
}

}  // namespace

std::optional<NodeWriter::Change> difference(const MigTexts& texts, const cluster::Node& node) {
  NodeWriter::Change change;
  if (texts.state) set_label(node, change.labels, cluster::kMigStateLabel, *texts.state);
  set_label(node, change.labels, cluster::kMigChangeLabel,
            texts.change ? cluster::kMigChangeLabelValue : "");
  const bool was_open = node.annotations.contains(cluster::kMigChangeAnnotation);
  set_annotation(node, change.annotations, cluster::kMigChangeAnnotation,
                 texts.change ? std::optional(cluster::encode(*texts.change)) : std::nullopt);
  set_annotation(node, change.annotations, cluster::kMigAppliedAnnotation,
                 texts.outcome ? std::optional(text_for_node(*texts.outcome)) : std::nullopt);
  // Only ends its own pause, not somebody else's.
  if (texts.change || was_open) pause_clients(texts.pause, node, texts.own, change.labels);
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

std::optional<MigOutcome> outcome_on(const cluster::Node& node) {
  const auto& text = value_of(node.annotations, cluster::kMigAppliedAnnotation);
  if (text.empty() || text.size() > kLongestText) return std::nullopt;
  auto outcome = decode_outcome(text);
  return outcome ? std::optional(*std::move(outcome)) : std::nullopt;
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
