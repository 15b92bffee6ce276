#pragma once
// Keeps the node's feature labels in step with the offer, in a file in NFD's folder or an object of
// the API server (label_sink.h). The file is written when labels change, left to another living
// writer (mode auto), and removed when the agent ends. The object stays when the agent ends. Used
// from the agent's loop only.

#include <chrono>
#include <optional>
#include <string>

#include "agent/labels/label_sink.h"
#include "base/clock.h"
#include "base/log.h"
#include "config/config.h"
#include "config/programs/agent_options.h"
#include "gpu/machine.h"
#include "labels/feature_file.h"
#include "labels/labels.h"

namespace tranche::agent {

class LabelPublisher {
 public:
  // `mode`: off: never writes; automatic: writes the file when NFD's folder exists and no other
  // writer's file there is fresh; on: whenever the folder exists. `sink`: the object to write to;
  // null: the file.
  LabelPublisher(config::LabelsMode mode, LabelSink* sink, const Clock& clock, const Log& log);

  // Gives the labels a new timestamp, because the configuration took effect now.
  void restamp();
  struct Content {
    const gpu::Machine& machine;
    const config::Config& config;      // as the labels describe it
    std::optional<bool> mps_wished{};  // labels::LabelOptions
    labels::Labels ours{};             // in addition to the machine's
  };
  void update(const Content& content);
  // Called when the agent ends.
  void finish();

 private:
  void write_file(const labels::LabelSet& set);
  void warn_of(const labels::LabelSet& set);
  bool may_write_file();
  bool may_write(const labels::FeatureFile& file);
  void say_once(LogLevel level, const std::string& message);

  config::LabelsMode mode_;
  LabelSink* sink_;
  const Clock& clock_;
  const Log& log_;
  std::int64_t timestamp_ = 0;
  std::optional<labels::FeatureFile> file_;  // written last
  config::GfdFlags flags_;
  labels::Labels written_;
  std::string said_;
};

}  // namespace tranche::agent
