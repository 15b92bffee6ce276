#pragma once
// The settings of `tranche limit set|get|reset|list|prune`, from its words and flags. Pure.

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
    kList,   // all that is set in the cluster
    kPrune,  // what is set of Pods that are gone leaves
  };
  using Output = OutputForm;

  Verb verb = Verb::kGet;
  std::string ns;         // "": the context's; kList: all
  std::string pod;        // kSet, kGet, kReset
  std::string container;  // "": the only one, or all
  std::string resource;   // with its domain; "": the only one, or all
  // As written, and such as the agent reads; "": not given. kSet alone.
  std::string memory;
  std::string compute;
  std::string priority;
  std::chrono::nanoseconds timeout = std::chrono::seconds(30);
  Output output = Output::kTable;
  ApiServer api_server;
  bool operator==(const LimitOptions&) const = default;
};

// Of `sources` the flags and the environment are read. `pod`: as the user names it, also
// "pod/NAME". kInvalidArgument with every error, one a line: then no cluster need be asked.
Result<LimitOptions> load_limit_options(const Sources& sources, LimitOptions::Verb verb,
                                        const std::string& pod);

}  // namespace tranche::config
