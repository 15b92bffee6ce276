#pragma once
// A small file by which a process shows other processes of its machine that its loop still runs.
// The loop writes the file again and again, and readers look at its age. The time is in the text
// (seconds since 1970), so writer and reader use their Clock and not the file system's. `tranche
// arbiter --check` and the agent read the arbiter's file.

#include <chrono>
#include <filesystem>
#include <optional>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"

namespace tranche::process {

class LivenessFile {
 public:
  // The name of the arbiter's file in its --state-dir.
  static constexpr const char* kArbiters = "alive";

  static constexpr std::chrono::seconds kBeat{5};
  // With an older file the process counts as dead. It is six beats, because the machine may be
  // busy.
  static constexpr std::chrono::seconds kLongest{30};

  LivenessFile(std::filesystem::path file, const Clock& clock);
  // Removes the file.
  ~LivenessFile();
  LivenessFile(const LivenessFile&) = delete;
  LivenessFile& operator=(const LivenessFile&) = delete;

  // Called by the loop. Writes when the last write is kBeat old. An error of writing is ignored:
  // the loop goes on, and readers find no fresh file.
  void beat();

  // kUnavailable: there is no such file, its text cannot be read, or it is older than kLongest.
  // `who`: for messages, "arbiter".
  static Result<void> check(const std::filesystem::path& file, const Clock& clock,
                            std::string_view who);

 private:
  std::filesystem::path file_;
  const Clock& clock_;
  std::optional<std::chrono::steady_clock::time_point> written_;
};

}  // namespace tranche::process
