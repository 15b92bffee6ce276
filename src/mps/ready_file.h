#pragma once
// The file `.started` of an MPS resource: how the control daemons' supervisor tells the agent, in
// another container, that a daemon serves. NVIDIA's mps-control-daemon makes it empty, once. Ours
// says whose it is, then the daemon's GPUs, one a line, then how it serves them:
//
//     tranche mps-control-daemon
//     GPU-...
//     protocol 3
//     partition GPU-...::0 GPU-.../Kp8A        a tranche, and its static SM partition
//
// It is locked for as long as its maker lives: the kernel frees the lock at any death, so a file
// left behind by one that was killed is not taken for a daemon that serves.

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "offer/offer.h"

namespace tranche::mps {

// Made, and locked, by whoever supervises; removed with the object.
class ReadyFile {
 public:
  static Result<ReadyFile> put(const std::filesystem::path& file,
                               std::span<const std::string> gpus = {},
                               const offer::MpsService& service = {});
  ReadyFile(ReadyFile&& other) noexcept;
  ReadyFile& operator=(ReadyFile&&) = delete;
  ~ReadyFile();

 private:
  ReadyFile(std::filesystem::path file, int fd) : file_(std::move(file)), fd_(fd) {}
  std::filesystem::path file_;
  int fd_;
};

// The GPUs of a mark whose maker was killed; none where there is no such mark.
std::vector<std::string> left_behind(const std::filesystem::path& file);

// How the daemon of this `.started` serves. NVIDIA's, and one that is not there: protocol 2.
offer::MpsService service_of(const std::filesystem::path& file);

// Why the daemon of this `.started` does not serve; empty: it does. Never waits.
std::string trouble_of(const std::filesystem::path& file);

}  // namespace tranche::mps
