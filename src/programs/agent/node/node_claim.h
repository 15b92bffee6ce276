#pragma once
// Which agent serves a node, and for which release. An agent holds locks on files for its life, and
// writes the release that it belongs to into them. The release outlives the agent: while one Pod of
// a release is replaced by the next, no other release's agent serves the node, and only the
// release's own cleanup clears it.
//
// One file is in the state folder. Another is in a folder of ours in kubelet's folder of device
// plugins (and, for claims, of drivers), which agents with other state folders see too. Kubelet
// empties that folder at its start, but for the folders in it.
//
// An agent that names no release claims nothing. A node that nobody has claimed is claimed by the
// first agent that serves it, with all that lies there (decision 21).

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

// The socket beside a lock at which the agent that serves hands over.
inline constexpr std::string_view kHandoverSocket = "handover.sock";

// A release that claimed the node, and a file that says so.
struct Claimed {
  std::string release;
  std::filesystem::path file;
};

class NodeClaim {
 public:
  // `release`: "namespace/name" as the chart gives it; "": none is named. `shared`: folders that
  // all agents of the node see. One whose parent is not there is left out.
  NodeClaim(std::filesystem::path state_dir, std::string release,
            const std::vector<std::filesystem::path>& shared = {});

  // Of the agent with these options.
  static NodeClaim of(const config::AgentOptions& options);

  // Those that are locked, in this order. The last one is the state folder's.
  const std::vector<std::filesystem::path>& files() const { return files_; }
  const std::string& release() const { return release_; }

  // The release that claimed the node: another one than this, if any file names another; nullopt:
  // none has. kInvalidArgument: a file is torn, edited or of another version.
  Result<std::optional<std::string>> owner() const;
  // The first one that is another release than this. A file that cannot be read names none.
  std::optional<Claimed> other() const;
  // The state folder that this release served the node with before, if it was another one.
  std::optional<std::string> other_state() const;
  // Whether an agent or a cleanup holds a lock now.
  bool is_held() const;

  // Writes this release into the files that are there, or nothing if it names none. Only for who
  // holds the locks, as the two below.
  Result<void> write() const;
  // Takes the release out of the files again.
  Result<void> clear() const;
  // Removes the files, with the sockets beside them, and folders that are empty then.
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
  std::vector<File> files;       // in the order of the claim's
  std::optional<Error> trouble;  // why a file is not among them; nullopt: all are
};

// Locks the files of `claim` that `held` does not hold yet, and makes their folders. While another
// process holds one, calls `waiting` with it, which waits a while; false: give up. nullptr: it gave
// up. An error: no file can be locked.
Result<std::unique_ptr<NodeLock>> lock_node(
    const NodeClaim& claim, const std::function<bool(const std::filesystem::path& file)>& waiting,
    NodeLock held = {});

// How long another release's node is left without an agent before it is taken over: long enough for
// a Pod that is replaced and whose image is pulled.
inline constexpr std::chrono::minutes kClaimPatience{5};

struct ClaimWait {
  bool first = false;                // the first call
  std::optional<std::string> other;  // the other release that serves the node
  std::filesystem::path file;        // that the other agent holds, or that names its release
};

// Takes the locks when it is this release's turn. While another agent holds one, or another release
// has claimed the node within kClaimPatience, calls `waiting`, which waits a while; false: give up.
// `take_over`: does not wait for a release that has no agent here. Claims nothing: that is write().
// nullptr: `waiting` gave up. Errors: those of lock_node().
Result<std::unique_ptr<NodeLock>> take_turn(const NodeClaim& claim, bool take_over,
                                            const Clock& clock,
                                            const std::function<bool(const ClaimWait&)>& waiting);

}  // namespace tranche::agent
