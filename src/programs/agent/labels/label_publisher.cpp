#include "agent/labels/label_publisher.h"

#include <fmt/format.h>

namespace tranche::agent {

LabelPublisher::LabelPublisher(config::LabelsMode mode, LabelSink* sink, const Clock& clock,
                               const Log& log)
    : mode_(mode), sink_(sink), clock_(clock), log_(log) {
  restamp();
}

void LabelPublisher::restamp() {
  timestamp_ =
      std::chrono::duration_cast<std::chrono::seconds>(clock_.wall_now().time_since_epoch())
          .count();
}

void LabelPublisher::update(const Content& content) {
  if (mode_ == config::LabelsMode::kOff) return;
  flags_ = content.config.flags.gfd;
  // Standard output is the agent's log; `tranche labels --oneshot` prints labels.
  if (sink_ == nullptr && (flags_.output_file.empty() || !may_write_file())) return;
  const auto timestamp =
      flags_.no_timestamp ? std::nullopt : std::optional<std::int64_t>(timestamp_);
  auto set = labels::make_labels(content.machine, content.config,
                                 {.timestamp = timestamp, .mps_wished = content.mps_wished});
  if (!set) {
    say_once(LogLevel::kError, fmt::format("labels: {}", set.error().message()));
    return;
  }
  set->labels.insert(content.ours.begin(), content.ours.end());
  if (sink_ == nullptr) {
    write_file(*set);
    return;
  }
  sink_->write(set->labels);
  warn_of(*set);
}

bool LabelPublisher::may_write_file() {
  const labels::FeatureFile file(FsRoot(), flags_.output_file);
  if (file_ && file_->path() != file.path()) {
    finish();
    file_.reset();
    written_.clear();
  }
  return may_write(file);
}

void LabelPublisher::write_file(const labels::LabelSet& set) {
  const labels::FeatureFile file(FsRoot(), flags_.output_file);
  if (file_ && set.labels == written_ &&
      file.owner(clock_.wall_now()).value_or(labels::FeatureFile::Owner::kNobody) ==
          labels::FeatureFile::Owner::kUs) {
    return;
  }
  if (const auto result = file.write(set.labels); !result) {
    say_once(LogLevel::kError, fmt::format("labels: {}", result.error().message()));
    return;
  }
  said_.clear();
  if (set.labels != written_) {
    log_.info(fmt::format("wrote {} labels to {}", set.labels.size(), file.path().string()));
  }
  warn_of(set);
  file_ = file;
}

void LabelPublisher::warn_of(const labels::LabelSet& set) {
  if (set.labels == written_) return;
  for (const auto& warning : set.warnings) log_.warn(fmt::format("labels: {}", warning));
  written_ = set.labels;
}

bool LabelPublisher::may_write(const labels::FeatureFile& file) {
  if (!file.folder_exists()) {
    say_once(LogLevel::kWarn,
             fmt::format("labels are not written: {} does not exist (is node feature discovery "
                         "installed, and its features.d folder mounted?); --labels=false says "
                         "that this is meant",
                         file.path().parent_path().string()));
    return false;
  }
  if (mode_ == config::LabelsMode::kOn) return true;
  const auto owner = file.owner(clock_.wall_now());
  if (!owner) {
    say_once(LogLevel::kWarn, fmt::format("labels: {}", owner.error().message()));
    return false;
  }
  if (*owner != labels::FeatureFile::Owner::kOther) return true;
  say_once(LogLevel::kInfo,
           fmt::format("labels are left to the other writer of {}; --labels=true takes them over",
                       file.path().string()));
  file_.reset();
  return false;
}

void LabelPublisher::finish() {
  if (!file_ || !labels::removed_on_exit(flags_)) return;
  if (const auto removed = file_->remove(); !removed) log_.warn(removed.error());
}

void LabelPublisher::say_once(LogLevel level, const std::string& message) {
  if (said_ == message) return;
  said_ = message;
  log_.write(level, message);
}

}  // namespace tranche::agent
