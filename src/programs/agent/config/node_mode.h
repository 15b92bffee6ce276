#pragma once
// This node's mode from its label, kept on disk for a start without an API server: <state
// dir>/mode, one word. Used by the agent's loop.

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "base/fs.h"
#include "base/log.h"
#include "base/said_once.h"
#include "cluster/formats/node_mode.h"
#include "cluster/node.h"

namespace tranche::agent {

class NodeModeReader {
 public:
  // `node`: kUnavailable while unknown.
  NodeModeReader(std::filesystem::path file, std::function<Result<cluster::Node>()> node,
                 const Log& log);

  // The previous mode while the Node is unknown or its label has another value. nullopt: never
  // known.
  std::optional<cluster::NodeMode> read();
  // What is wrong with the label; empty: nothing.
  const std::string& trouble() const { return trouble_; }

 private:
  void take(cluster::NodeMode mode);

  const std::filesystem::path file_;
  const std::function<Result<cluster::Node>()> node_;
  const Log& log_;
  FsRoot fs_;
  std::optional<cluster::NodeMode> mode_;
  bool stored_ = false;  // the file has mode_
  std::string trouble_;
  SaidOnce said_;
};

}  // namespace tranche::agent
