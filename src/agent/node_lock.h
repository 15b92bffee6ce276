#pragma once
// One agent at a time serves a node's plugins: a lock on <state folder>/agent.lock, held for the
// process' life and freed by the kernel at its death. (Not in kubelet's folder: kubelet empties
// it.)

#include <filesystem>
#include <functional>
#include <memory>

#include "base/result.h"

namespace tranche::agent {

class NodeLock {
 public:
  // Takes the lock. While another holds it, calls `waiting` (which waits a while and returns
  // whether to go on) and tries again. nullptr when told to stop. kIo, kPermission: the file cannot
  // be made.
  static Result<std::unique_ptr<NodeLock>> take(const std::filesystem::path& file,
                                                const std::function<bool()>& waiting);
  ~NodeLock();
  NodeLock(const NodeLock&) = delete;
  NodeLock& operator=(const NodeLock&) = delete;

 private:
  explicit NodeLock(int fd) : fd_(fd) {}
  int fd_;
};

}  // namespace tranche::agent
