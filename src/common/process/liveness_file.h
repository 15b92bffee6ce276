#pragma once
// How a process shows other processes of its machine that its loop still runs. `tranche arbiter
// --check` runs in the arbiter's container and asks its StatusSocket, which needs no file. The
// agent runs in another container and reads the file: the loop writes it again and again, and
// readers look at its age. The time is in the text (seconds since 1970), so writer and reader use
// their Clock and not the file system's. The file is written over in its place, because a folder
// without room has none for a new one.

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
  // With an older file the process counts as dead. It is six beats, because the machine may be
  // busy.
  static constexpr std::chrono::seconds kLongest{30};

  LivenessFile(std::filesystem::path file, const Clock& clock);
  // Removes the file.
  ~LivenessFile();
  LivenessFile(const LivenessFile&) = delete;
  LivenessFile& operator=(const LivenessFile&) = delete;

  // Called by the loop. Writes when the last write is kBeat old. An error of writing is ignored:
  // the loop goes on, and readers of the file find no fresh one.
  void beat();

  // kUnavailable: the socket says so, or nobody answers there and the file is missing, cannot be
  // read, or is older than kLongest.
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
