#pragma once
// A descriptor of ours in someone else's program. The program may close its number along with
// others it does not know (closefrom, daemon(), a shell's redirections) and reuse it for its own
// file, and so may its children. So before each use it is checked that the number still refers to
// the same file; otherwise it is neither written nor closed, and counts as lost.
//
// It uses a high number if the program allows one. Programs that close and open again get the same
// numbers as without us.
//
// One thread at a time changes it. Others may call get() meanwhile: then they may be told -1.

#include <atomic>
#include <cstdint>

namespace tranche::interpose {

// Identifies the file open under a number.
struct OpenFile {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  bool operator==(const OpenFile&) const = default;
};
// Empty if nothing is open there.
OpenFile open_file(int fd);

class OwnDescriptor {
 public:
  OwnDescriptor() = default;
  OwnDescriptor(const OwnDescriptor&) = delete;
  OwnDescriptor& operator=(const OwnDescriptor&) = delete;
  ~OwnDescriptor() { close(); }

  // Replaces the current one. `fd` is closed if another number was found for it.
  void take(int fd);
  // -1: there is none, or no longer.
  int get() const;
  // Whether there was one that this process was not asked to close.
  bool is_kept() const { return number_.load(std::memory_order_relaxed) >= 0; }
  void close();

 private:
  std::atomic<int> number_ = -1;
  std::atomic<std::uint64_t> device_ = 0;  // of the file
  std::atomic<std::uint64_t> inode_ = 0;
};

}  // namespace tranche::interpose
