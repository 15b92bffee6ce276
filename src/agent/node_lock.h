#pragma once
// One agent at a time serves a node's plugins: a lock on <state folder>/agent.lock, held for the
// process' life and freed by the kernel at its death. (Not in kubelet's folder: kubelet empties
// it.) Who holds it may remove the file: a lock counts only while its file has its name.

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
  // Whether somebody holds it now.
  static bool is_held(const std::filesystem::path& file);
  ~NodeLock();
  NodeLock(const NodeLock&) = delete;
  NodeLock& operator=(const NodeLock&) = delete;

 private:
  explicit NodeLock(int fd) : fd_(fd) {}
  int fd_;
};

}  // namespace tranche::agent
