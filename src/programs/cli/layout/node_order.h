#pragma once
// `tranche layout apply --node NODE -c NAME`: sets the label nvidia.com/mig.config of a Node, and
// follows the change that its agent makes (cluster/formats/mig_change.h). Uses only the objects
// port.
//
// The field manager is this command's own. With that of the pools (controller/mig_pools.h), an
// apply would remove the pool's mark, which is one of their fields.

#include <chrono>
#include <functional>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "cli/layout/node_layout.h"
#include "cluster/objects.h"

namespace tranche::cli {

inline constexpr const char* kLayoutFieldManager = "tranche-layout";

struct NodeOrder {
  std::string node;
  std::string layout;
  bool accept_outage = false;
  bool dry_run = false;
  bool wait = true;
  std::chrono::nanoseconds timeout = std::chrono::minutes(15);
};

// What the command needs from outside.
struct NodePorts {
  cluster::Objects& objects;
  const Clock& clock;
  // Waits; false: interrupted by the user.
  std::function<bool(std::chrono::milliseconds)> pause;
  // Prints text with its line ends.
  std::function<void(const std::string&)> print;
  // Prints a line that the next one replaces. Empty: there is no terminal.
  std::function<void(const std::string&)> tick;
  // Asks whether to continue. Empty: does not ask.
  std::function<bool()> ask;
};

// Returns when the Node has the layout and accepts Pods again.
//     kUnsupported         the node has no MIG
//     kFailedPrecondition  a change to another layout is open; the change failed, did not begin, or
//                          took too long; the user interrupted or declined
// and those of the port. What was done until then stays: the hint says how to undo it.
Result<void> apply_on_node(const NodePorts& ports, const NodeOrder& order);

// kNotFound: no such Node.
Result<NodeLayout> read_node_layout(cluster::Objects& objects, const std::string& node);

}  // namespace tranche::cli
