#pragma once
// The settings of `tranche layout` assert, apply, export and defaults, from flags and environment,
// including those of nvidia-mig-parted. Pure.

#include <chrono>
#include <filesystem>
#include <string>

#include "base/api_server.h"
#include "base/result.h"
#include "config/programs/output_form.h"

namespace tranche::config {

struct LayoutFileOptions {
  std::string file;    // "-": standard input; "": the default layouts
  std::string layout;  // "": the only one in the file
  bool mode_only = false;
  bool valid_only = false;  // for assert
  bool dry_run = false;     // for apply
  bool yes = false;
  bool force = false;
  std::filesystem::path state_dir;
  std::filesystem::path mps_dir;  // for apply; empty: the usual folders
  std::string label;              // for export
  OutputForm output = OutputForm::kYaml;
  std::filesystem::path driver_root;
  std::filesystem::path host_root;
  // For apply on a cluster node.
  std::string node;  // "": this machine
  bool accept_outage = false;
  bool wait = true;
  std::chrono::nanoseconds timeout = std::chrono::minutes(15);
  std::string snapshot = {};  // a file instead of a cluster, for a dry run; "": none
  ApiServer api_server;
  bool operator==(const LayoutFileOptions&) const = default;
};

// `use`: which subcommand, FlagUse. kInvalidArgument with every error, one per line.
Result<LayoutFileOptions> load_layout_file_options(const Sources& sources, unsigned use);

}  // namespace tranche::config
