#pragma once
// The file `.started` of an MPS resource: how the control daemons' supervisor tells the agent, in
// another container, that a daemon serves. NVIDIA's mps-control-daemon makes it empty, once. Ours
// says whose it is and is locked for as long as its maker lives: the kernel frees the lock at any
// death, so a file left behind by one that was killed is not taken for a daemon that serves.

#include <filesystem>
#include <string>

#include "base/result.h"

namespace tranche::agent {

// Made, and locked, by whoever supervises; removed with the object.
class MpsMark {
 public:
  static Result<MpsMark> put(const std::filesystem::path& file);
  MpsMark(MpsMark&& other) noexcept;
  MpsMark& operator=(MpsMark&&) = delete;
  ~MpsMark();

 private:
  MpsMark(std::filesystem::path file, int fd) : file_(std::move(file)), fd_(fd) {}
  std::filesystem::path file_;
  int fd_;
};

// Why the daemon of this `.started` does not serve; empty: it does. Never waits.
std::string mps_trouble(const std::filesystem::path& file);

}  // namespace tranche::agent
