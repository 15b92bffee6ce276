#pragma once
// The settings of `tranche snapshot`, from flags. Pure.

#include <string>
#include <vector>

#include "base/api_server.h"
#include "base/result.h"
#include "cluster/object.h"
#include "config/flags/sources.h"

namespace tranche::config {

struct SnapshotOptions {
  std::string file;  // "": standard output
  bool anonymize = false;
  std::string snapshot = {};  // a file instead of a cluster, to be anonymized; "": none
  std::vector<cluster::ObjectKey> config_maps;
  std::string operator_namespace;
  ApiServer api_server;
  bool operator==(const SnapshotOptions&) const = default;
};

// Reads the flags and environment of `sources`. kInvalidArgument with every error, one per line.
Result<SnapshotOptions> load_snapshot_options(const Sources& sources);

}  // namespace tranche::config
