#pragma once
// How a process shows other processes on its machine that its loop is still running. `tranche
// arbiter --check` runs in the arbiter's container and asks its StatusSocket, which needs no file.
// The agent runs in another container and reads the file: the loop rewrites it regularly, and
// readers check its age. The text contains the time (seconds since 1970), so writer and reader use
// their Clock, not the file system's. The file is overwritten in place, because a full disk has no
// room for a new one.

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/descriptor.h"
#include "base/result.h"
#include "process/status_socket.h"

namespace tranche::process {

class LivenessFile {
 public:
  // The name of the arbiter's file in its --state-dir.
  static constexpr const char* kArbiters = "alive";

  static constexpr std::chrono::seconds kBeat{5};
  // With an older file the process counts as dead. Six beats, because the machine may be
  // busy.
  static constexpr std::chrono::seconds kLongest{30};

  LivenessFile(std::filesystem::path file, const Clock& clock);
  // Removes the file.
  ~LivenessFile();
  LivenessFile(const LivenessFile&) = delete;
  LivenessFile& operator=(const LivenessFile&) = delete;

  // Called by the loop. Writes when the last write is kBeat old. Write errors are ignored: the loop
  // continues, and readers find no fresh file.
  void beat();

  // kUnavailable: the socket says so, or there is no answer and the file is missing, unreadable, or
  // older than kLongest.
  // `who`: for messages, "arbiter".
  static Result<void> check(const std::filesystem::path& file, const Clock& clock,
                            std::string_view who);

 private:
  void write(const std::string& text);

  std::filesystem::path file_;
  const Clock& clock_;
  StatusSocket socket_;
  Descriptor open_;  // the file
  std::optional<std::chrono::steady_clock::time_point> written_;
};

}  // namespace tranche::process
