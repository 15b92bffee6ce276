#pragma once
// Which agent serves a node, and for which release. An agent holds a lock in the state folder for
// its life, and writes the release that it belongs to into the lock's file. The release outlives
// the agent: while one Pod of a release is replaced by the next, no other release's agent serves
// the node, and only the release's own cleanup clears it.
//
// An agent that names no release claims nothing. A node that nobody has claimed is claimed by the
// first agent that serves it, with all that lies there (decision 21).

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "process/process_lock.h"

namespace tranche::agent {

class NodeClaim {
 public:
  // `release`: "namespace/name" as the chart gives it; "": none is named.
  NodeClaim(const std::filesystem::path& state_dir, std::string release)
      : file_(state_dir / "agent.lock"), release_(std::move(release)) {}

  const std::filesystem::path& file() const { return file_; }
  const std::string& release() const { return release_; }

  // The release that claimed the node; nullopt: none has. kInvalidArgument: the file is torn,
  // edited or of another version.
  Result<std::optional<std::string>> owner() const;
  // The same, if it is another release than this one. A file that cannot be read names none.
  std::optional<std::string> other() const;
  // Whether an agent or a cleanup holds the lock now.
  bool is_held() const { return process::ProcessLock::is_held(file_); }

  // Writes this release into the file, or nothing if it names none. Only for who holds the lock.
  Result<void> write() const;
  // Takes the release out of the file again.
  Result<void> clear() const;

 private:
  std::filesystem::path file_;
  std::string release_;
};

// How long another release's node is left without an agent before it is taken over: long enough for
// a Pod that is replaced and whose image is pulled.
inline constexpr std::chrono::minutes kClaimPatience{5};

struct ClaimWait {
  bool first = false;                // the first call
  std::optional<std::string> other;  // the other release that serves the node
};

// Takes the lock when it is this release's turn. While another agent holds it, or another release
// has claimed the node within kClaimPatience, calls `waiting`, which waits a while; false: give up.
// `take_over`: does not wait for a release that has no agent here. Claims nothing: that is write().
// The state folder is made where there is none. nullptr: `waiting` gave up. Errors: those of
// ProcessLock::take(), or the folder cannot be made.
Result<std::unique_ptr<process::ProcessLock>> take_turn(
    const NodeClaim& claim, bool take_over, const Clock& clock,
    const std::function<bool(const ClaimWait&)>& waiting);

}  // namespace tranche::agent
