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
  int gpus = 0;       // kUseLayoutPack: how many there are; 0: as many as are needed
  // "3g.40gb=2" and "3g.40gb" (once), added up by name as written.
  std::map<std::string, int> devices;
  Output output = Output::kTable;
  std::string svg_file;  // "": none
  // kUseLayoutShow: the driver's root and the file-system root, as this process sees them.
  std::string driver_root;
  std::string host_root;
  std::string node;  // kUseLayoutShow: a node of the cluster; "": this machine
  ApiServer api_server;
  bool operator==(const LayoutOptions&) const = default;
};

// `use`: which word, FlagUse. `words`: what stands after it. kInvalidArgument with every error, one
// a line.
Result<LayoutOptions> load_layout_options(const Sources& sources, unsigned use,
                                          const std::vector<std::string>& words);

}  // namespace tranche::config
