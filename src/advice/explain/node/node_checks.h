#pragma once
// What can be wrong on a node: the table of checks (node_checks.def), and the checks themselves as
// a function of what was read. For `tranche doctor` and the agent's Events. Pure.

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "usage/node_usage.h"

namespace tranche::explain {

struct NodeCheck {
  std::string_view id;      // "TRN-N041"
  std::string_view source;  // usage::Check::name; empty: none
  std::string_view what;
  std::string_view fix;
};
// By id.
std::span<const NodeCheck> node_checks();
// The check of a source that does not work; nullptr: there is none.
const NodeCheck* check_of_source(std::string_view source);

struct Finding {
  const NodeCheck* check = nullptr;
  std::string where;   // a path, an address, a UUID
  std::string detail;  // what was answered; may be empty
};

// A place that was tried. `error` nullopt: it works.
struct Tried {
  std::string where;
  std::optional<Error> error{};
};

struct ArbiterFacts {
  Tried alive;
  Tried status;
  std::string driver_failure{};
  std::vector<std::string> refused{};  // tenants
};

struct NodeFacts {
  Tried driver;
  struct Gpu {
    std::string uuid;
    std::string trouble;  // empty: it is read
  };
  std::vector<Gpu> gpus{};  // of a driver that answers
  Tried agent;
  bool agent_is_ready = false;
  std::string agent_text{};  // what it does or waits for
  Tried state;
  Tried device_plugins;
  Tried pod_resources;
  std::optional<ArbiterFacts> arbiter{};  // nullopt: there should be none here
  std::optional<Tried> metrics{};         // nullopt: none are served here
  // Those of usage::Check that were tried here.
  std::vector<usage::Check> sources{};
};

// By id.
std::vector<Finding> examine(const NodeFacts& facts);

}  // namespace tranche::explain
