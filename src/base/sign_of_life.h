#pragma once
// The arbiter's sign of life for a probe: <state dir>/alive, whose age tells whether the loop
// turns. Without a network: `tranche arbiter --check` looks at it from inside the container.

#include <chrono>
#include <filesystem>
#include <optional>

#include "base/clock.h"
#include "base/result.h"

namespace tranche::arbiter {

class Alive {
 public:
  static constexpr std::chrono::seconds kBeat{5};
  // Older than this nobody lives: six beats, for a machine that is busy with other things.
  static constexpr std::chrono::seconds kLongest{30};

  Alive(const std::filesystem::path& state_dir, const Clock& clock);
  // Takes the file away.
  ~Alive();
  Alive(const Alive&) = delete;
  Alive& operator=(const Alive&) = delete;

  // Of the loop; writes when the last writing is kBeat old. A folder that cannot be written is no
  // trouble of the limits': then nobody can ask.
  void beat();

  // kUnavailable: none runs on this state folder, or its loop stands still.
  static Result<void> check(const std::filesystem::path& state_dir, const Clock& clock);

 private:
  std::filesystem::path file_;
  const Clock& clock_;
  std::optional<std::chrono::steady_clock::time_point> written_;
};

}  // namespace tranche::arbiter
