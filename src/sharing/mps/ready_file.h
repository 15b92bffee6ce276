#pragma once
// The file `.started` of an MPS resource. With it the control daemons' supervisor tells the
// agent, which runs in another container, that a daemon serves. NVIDIA's mps-control-daemon
// creates the file once, empty. Ours contains its creator, then the daemon's GPUs, one per
// line, then how the daemon serves them:
//
//     tranche mps-control-daemon
//     GPU-...
//     protocol 3
//     partition GPU-...::0 GPU-.../Kp8A        a tranche, and its static SM partition
//     limits open                              no limits are set, for claims (mps/open_file.h)
//
// The file is locked for as long as its creator lives. The kernel releases the lock however the
// creator dies. So a file left behind by a killed supervisor does not count as a serving
// daemon.

#include <filesystem>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "offer/offer.h"

namespace tranche::mps {

// The supervisor creates and locks the file; the destructor removes it.
class ReadyFile {
 public:
  static Result<ReadyFile> put(const std::filesystem::path& file,
                               std::span<const std::string> gpus = {},
                               const offer::MpsService& service = {});
  // Replaces the content. Readers see either the old or the new one.
  Result<void> renew(std::span<const std::string> gpus, const offer::MpsService& service);
  ReadyFile(ReadyFile&& other) noexcept;
  ReadyFile& operator=(ReadyFile&&) = delete;
  ~ReadyFile();

 private:
  // Creates a file under another name, complete and locked.
  static Result<ReadyFile> make(const std::filesystem::path& fresh,
                                std::span<const std::string> gpus,
                                const offer::MpsService& service);
  Result<void> rename_to(const std::filesystem::path& file);
  ReadyFile(std::filesystem::path file, int fd) : file_(std::move(file)), fd_(fd) {}
  std::filesystem::path file_;
  int fd_;
};

// The GPUs in the file; nullopt: it lists none (NVIDIA's), or does not exist.
std::optional<std::set<std::string>> gpus_of(const std::filesystem::path& file);

// The GPUs in the file of a killed supervisor; empty if there is no such file.
std::vector<std::string> left_behind(const std::filesystem::path& file);

// How the daemon of this `.started` serves. For NVIDIA's file and for a missing one: protocol 2.
offer::MpsService service_of(const std::filesystem::path& file);

// Why the daemon of this `.started` does not serve; empty: it does. Never blocks.
std::string trouble_of(const std::filesystem::path& file);

}  // namespace tranche::mps
