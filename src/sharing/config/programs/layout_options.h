#pragma once
// The settings of `tranche layout list|validate|pack|show`, from words and flags. Pure.

#include <map>
#include <string>
#include <vector>

#include "base/api_server.h"
#include "base/result.h"
#include "config/flags/sources.h"

namespace tranche::config {

struct LayoutOptions {
  enum class Output { kTable, kJson, kYaml, kSvg, kParted };

  std::string model;  // as written; "": not given
  int gpus = 0;       // kUseLayoutPack: the number of GPUs; 0: as many as needed
  // "3g.40gb=2" and "3g.40gb" (once), summed by name as written.
  std::map<std::string, int> devices;
  Output output = Output::kTable;
  std::string svg_file;  // "": none
  // kUseLayoutShow: the driver's root and the file-system root, as this process sees them.
  std::string driver_root;
  std::string host_root;
  std::string node;      // kUseLayoutShow: a cluster node; "": this machine, or all of `snapshot`
  std::string snapshot;  // kUseLayoutShow: a file instead of a cluster; "": none
  ApiServer api_server;
  bool operator==(const LayoutOptions&) const = default;
};

// `use`: which subcommand, FlagUse. `words`: the words after it. kInvalidArgument with every error,
// one per line.
Result<LayoutOptions> load_layout_options(const Sources& sources, unsigned use,
                                          const std::vector<std::string>& words);

}  // namespace tranche::config
