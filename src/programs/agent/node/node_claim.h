#pragma once
// Which agent serves a node, and for which release. An agent locks files for its life, and writes
// its release into them. The release outlives the agent: while a Pod of a release is replaced, no
// other release's agent serves the node, and only the release's own cleanup clears it.
//
// One file is in the state folder, another in our folder in kubelet's folder of device plugins
// (and, for claims, of drivers), which agents with other state folders see too. Kubelet empties its
// folder at its start, except for subfolders.
//
// An agent without a release claims nothing. An unclaimed node is claimed by the first agent that
// serves it, with all that is there (decision 21).

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "config/programs/agent_options.h"
#include "process/process_lock.h"

namespace tranche::agent {

// The socket next to a lock, at which the serving agent hands over.
inline constexpr std::string_view kHandoverSocket = "handover.sock";

// A release that claimed the node, and a file that names it.
struct Claimed {
  std::string release;
  std::filesystem::path file;
};

class NodeClaim {
 public:
  // `release`: "namespace/name" from the chart; "": none. `shared`: folders that all agents of the
  // node see. One without a parent is left out.
  NodeClaim(std::filesystem::path state_dir, std::string release,
            const std::vector<std::filesystem::path>& shared = {});

  // Of the agent with these options.
  static NodeClaim of(const config::AgentOptions& options);

  // The files to lock, in this order. The last is the state folder's.
  const std::vector<std::filesystem::path>& files() const { return files_; }
  const std::string& release() const { return release_; }

  // The release that claimed the node, preferably another one than this; nullopt: none.
  // kInvalidArgument: a file is torn, edited or of another version.
  Result<std::optional<std::string>> owner() const;
  // The first other release. An unreadable file names none.
  std::optional<Claimed> other() const;
  // The state folder that this release used on the node before, if different.
  std::optional<std::string> other_state() const;
  // Whether an agent or a cleanup holds a lock now.
  bool is_held() const;

  // Writes this release into the existing files; nothing if it has no name. Only for the holder of
  // the locks, as the two below.
  Result<void> write() const;
  // Takes the release out of the files again.
  Result<void> clear() const;
  // Removes the files, the sockets next to them, and folders that are empty then.
  Result<void> remove() const;

 private:
  struct Record;
  static Result<std::optional<Record>> read(const std::filesystem::path& file);
  bool is_shared(const std::filesystem::path& file) const { return file != files_.back(); }

  std::filesystem::path state_dir_;
  std::vector<std::filesystem::path> files_;
  std::string release_;
};

// The locks on the files of a claim.
struct NodeLock {
  struct File {
    std::filesystem::path path;
    std::unique_ptr<process::ProcessLock> lock;
  };
  std::vector<File> files;       // in the claim's order
  std::optional<Error> trouble;  // why a file is missing; nullopt: none is
};

// Locks the files of `claim` that `held` does not hold yet, and makes their folders. While another
// process holds one, calls `waiting` with it, which waits a while; false: give up. nullptr: it gave
// up. An error: no file can be locked.
Result<std::unique_ptr<NodeLock>> lock_node(
    const NodeClaim& claim, const std::function<bool(const std::filesystem::path& file)>& waiting,
    NodeLock held = {});

// Time without an agent after which another release's node is taken over: enough to replace a Pod
// and pull its image.
inline constexpr std::chrono::minutes kClaimPatience{5};

struct ClaimWait {
  bool first = false;                // the first call
  std::optional<std::string> other;  // the other release that serves the node
  std::filesystem::path file;        // held by the other agent, or naming its release
};

// Takes the locks when it is this release's turn. While another agent holds one, or another release
// has claimed the node within kClaimPatience, calls `waiting`, which waits a while; false: give up.
// `take_over`: does not wait for a release without an agent here. Claims nothing: write() does.
// nullptr: `waiting` gave up. Errors: as lock_node().
Result<std::unique_ptr<NodeLock>> take_turn(const NodeClaim& claim, bool take_over,
                                            const Clock& clock,
                                            const std::function<bool(const ClaimWait&)>& waiting);

}  // namespace tranche::agent
