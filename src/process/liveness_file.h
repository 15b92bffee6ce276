#pragma once
// A process's sign of life for others on its machine that it has no connection with: a small file
// that a loop writes again and again, and whose age tells whether it still turns. The time stands
// in the text (seconds since 1970), so that writer and reader go by their Clock and not by the file
// system's. Of the arbiter's: `tranche arbiter --check` and the agent read it.

#include <chrono>
#include <filesystem>
#include <optional>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"

namespace tranche::process {

class LivenessFile {
 public:
  // Of the arbiter's, in its --state-dir.
  static constexpr const char* kArbiters = "alive";

  static constexpr std::chrono::seconds kBeat{5};
  // Older than this nobody lives: six beats, for a machine that is busy with other things.
  static constexpr std::chrono::seconds kLongest{30};

  LivenessFile(std::filesystem::path file, const Clock& clock);
  // Takes the file away.
  ~LivenessFile();
  LivenessFile(const LivenessFile&) = delete;
  LivenessFile& operator=(const LivenessFile&) = delete;

  // Of the loop; writes when the last writing is kBeat old. A folder that cannot be written is no
  // trouble of the loop's: then nobody can ask.
  void beat();

  // kUnavailable: there is no such file, nobody can tell what stands in it, or it is older than
  // kLongest. `who`: for messages, "arbiter".
  static Result<void> check(const std::filesystem::path& file, const Clock& clock,
                            std::string_view who);

 private:
  std::filesystem::path file_;
  const Clock& clock_;
  std::optional<std::chrono::steady_clock::time_point> written_;
};

}  // namespace tranche::process
