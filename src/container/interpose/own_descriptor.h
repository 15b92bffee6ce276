#pragma once
// A descriptor of ours in somebody else's program. Its number is the program's to close with all it
// does not know (closefrom, daemon(), a shell's redirections) and to use for a file of its own, and
// a child of the program may do so too. So before each use it is looked whether the number is still
// that of the same file; what is not ours is neither written nor closed, and counts as lost.
//
// It stands at a high number where the program allows one. Programs that close and open again get
// the numbers that they would get without us.
//
// Not thread-safe.

#include <cstdint>

namespace tranche::interpose {

// Which file is open under a number.
struct OpenFile {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  bool operator==(const OpenFile&) const = default;
};
// Nothing's, where nothing is open there.
OpenFile open_file(int fd);

class OwnDescriptor {
 public:
  OwnDescriptor() = default;
  OwnDescriptor(const OwnDescriptor&) = delete;
  OwnDescriptor& operator=(const OwnDescriptor&) = delete;
  ~OwnDescriptor() { close(); }

  // Takes the place of what was there. `fd` is closed where another number was found for it.
  void take(int fd);
  // -1: there is none, or none any more.
  int get() const;
  // Whether there was one that this process was not asked to close.
  bool is_kept() const { return number_ >= 0; }
  void close();

 private:
  int number_ = -1;
  OpenFile file_;
};

}  // namespace tranche::interpose
