#pragma once
// `tranche layout apply --node NODE -c NAME`: sets the label nvidia.com/mig.config of a Node, and
// follows the change that its agent makes (cluster/formats/mig_change.h). Uses the objects port
// alone.
//
// The field manager is this command's own. With that of the pools (controller/mig_pools.h) an apply
// would take away the pool's mark, which is a field of theirs.

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

// What the command needs of its surroundings.
struct NodePorts {
  cluster::Objects& objects;
  const Clock& clock;
  // Waits; false: the user has interrupted.
  std::function<bool(std::chrono::milliseconds)> pause;
  // Text with its line ends, for good.
  std::function<void(const std::string&)> print;
  // One line that the next one replaces. Empty: there is no terminal.
  std::function<void(const std::string&)> tick;
  // Whether to go on. Empty: nobody is asked.
  std::function<bool()> ask;
};

// Ends when the Node has the layout and takes Pods again.
//   kUnsupported         the node has no MIG
//   kFailedPrecondition  a change to another layout is open; the change failed, nobody began it, or
//                        it was not over in time; the user interrupted or said no
// and those of the port. What it did until then stays: the hint says how to take it back.
Result<void> apply_on_node(const NodePorts& ports, const NodeOrder& order);

// kNotFound: there is no such Node.
Result<NodeLayout> read_node_layout(cluster::Objects& objects, const std::string& node);

}  // namespace tranche::cli
