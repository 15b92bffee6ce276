#pragma once
// The mode of this node as its label says it, remembered on disk for a start without an API server:
// <state dir>/mode, one word. Used by the agent's loop.

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
  // `node`: kUnavailable while it is not known. `log` outlives it.
  NodeModeReader(std::filesystem::path file, std::function<Result<cluster::Node>()> node,
                 const Log& log);

  // While the Node is not known, and while its label has a value that is no mode, the mode before.
  // nullopt: it was never known.
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
  bool stored_ = false;  // the file says mode_
  std::string trouble_;
  SaidOnce said_;
};

}  // namespace tranche::agent
