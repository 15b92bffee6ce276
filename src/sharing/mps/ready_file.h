#pragma once
// The file `.started` of an MPS resource. By this file the control daemons' supervisor tells the
// agent, which runs in another container, that a daemon serves. NVIDIA's mps-control-daemon makes
// the file once, empty. Ours contains its maker, then the daemon's GPUs, one per line, then how the
// daemon serves them:
//
//     tranche mps-control-daemon
//     GPU-...
//     protocol 3
//     partition GPU-...::0 GPU-.../Kp8A        a tranche, and its static SM partition
//     limits open                              it sets none, for claims (mps/open_file.h)
//
// The file is locked for as long as its maker lives. The kernel frees the lock when the maker dies
// in any way. So a file that a killed supervisor left behind does not count as a daemon that
// serves.

#include <filesystem>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "offer/offer.h"

namespace tranche::mps {

// The supervisor makes and locks the file; the destructor removes it.
class ReadyFile {
 public:
  static Result<ReadyFile> put(const std::filesystem::path& file,
                               std::span<const std::string> gpus = {},
                               const offer::MpsService& service = {});
  // Tells something else from now on. Whoever looks finds the one or the other.
  Result<void> renew(std::span<const std::string> gpus, const offer::MpsService& service);
  ReadyFile(ReadyFile&& other) noexcept;
  ReadyFile& operator=(ReadyFile&&) = delete;
  ~ReadyFile();

 private:
  // A file of another name, whole and locked.
  static Result<ReadyFile> make(const std::filesystem::path& fresh,
                                std::span<const std::string> gpus,
                                const offer::MpsService& service);
  Result<void> rename_to(const std::filesystem::path& file);
  ReadyFile(std::filesystem::path file, int fd) : file_(std::move(file)), fd_(fd) {}
  std::filesystem::path file_;
  int fd_;
};

// The GPUs in the file; nullopt: it does not tell (NVIDIA's), or is not there.
std::optional<std::set<std::string>> gpus_of(const std::filesystem::path& file);

// The GPUs in the file of a supervisor that was killed; empty if there is no such file.
std::vector<std::string> left_behind(const std::filesystem::path& file);

// How the daemon of this `.started` serves. For NVIDIA's file and for a missing one: protocol 2.
offer::MpsService service_of(const std::filesystem::path& file);

// Why the daemon of this `.started` does not serve; empty: it does. Never waits.
std::string trouble_of(const std::filesystem::path& file);

}  // namespace tranche::mps
