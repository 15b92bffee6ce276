#pragma once
// A descriptor of ours in someone else's program. The program may close its number along with
// others it does not know (closefrom, daemon(), a shell's redirections) and reuse it for its own
// file, and so may its children. So before each use it is checked that the number still refers to
// the same file; otherwise it is neither written nor closed, and counts as lost.
//
// It uses a high number if the program allows one. Programs that close and open again get the same
// numbers as without us.
//
// Not thread-safe.

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
  bool is_kept() const { return number_ >= 0; }
  void close();

 private:
  int number_ = -1;
  OpenFile file_;
};

}  // namespace tranche::interpose
