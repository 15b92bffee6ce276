#pragma once
// The settings of `tranche limit set|get|reset|list|prune`, from words and flags. Pure.

#include <chrono>
#include <string>

#include "base/api_server.h"
#include "base/result.h"
#include "config/programs/output_form.h"

namespace tranche::config {

struct LimitOptions {
  enum class Verb {
    kSet,
    kGet,
    kReset,
    kList,   // all settings in the cluster
    kPrune,  // removes settings of Pods that no longer exist
  };
  using Output = OutputForm;

  Verb verb = Verb::kGet;
  std::string ns;         // "": the context's; kList: all
  std::string pod;        // kSet, kGet, kReset
  std::string container;  // "": the only one, or all
  std::string resource;   // with its domain; "": the only one, or all
  // As written, in the form that the agent accepts; "": not given. kSet only.
  std::string memory;
  std::string compute;
  std::string priority;
  std::chrono::nanoseconds timeout = std::chrono::seconds(30);
  Output output = Output::kTable;
  std::string snapshot = {};  // a file instead of a cluster; "": none. kGet, kList
  ApiServer api_server;
  bool operator==(const LimitOptions&) const = default;
};

// Reads the flags and environment of `sources`. `pod`: as the user names it, also "pod/NAME".
// kInvalidArgument with every error, one per line; then there is no need to contact a cluster.
Result<LimitOptions> load_limit_options(const Sources& sources, LimitOptions::Verb verb,
                                        const std::string& pod);

}  // namespace tranche::config
