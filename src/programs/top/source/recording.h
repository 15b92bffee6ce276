#pragma once
// Readings in a file, one line of usage/v1 or fleet/v1 each: written by Recorder, read by Replay.

#include <atomic>
#include <cstdint>
#include <fstream>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "top/source/source.h"

namespace tranche::top {

// Appends to a file for its owner alone. A reading that does not fit, on the disk or below the
// limit, is left out whole; the next one is tried again. Used by one thread.
class Recorder {
 public:
  // kIo, kPermission: the file cannot be written.
  static Result<std::unique_ptr<Recorder>> open(const std::string& path, std::uint64_t limit);
  ~Recorder();
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  // kIo: the disk is full, or refuses; kFailedPrecondition: the limit is reached.
  Result<void> append(const Reading& reading);

 private:
  Recorder(int descriptor, std::string path, std::uint64_t limit, std::uint64_t size)
      : descriptor_(descriptor), path_(std::move(path)), limit_(limit), size_(size) {}

  const int descriptor_;
  const std::string path_;
  const std::uint64_t limit_;
  std::uint64_t size_;
};

// usage/v1 or fleet/v1, as the reading is.
std::string recorded_text(const Reading& reading);
Result<Reading> parse_recorded(const std::string& line);

class Replay final : public Source {
 public:
  // `speed`: 2 is twice as fast; at least 0.01. Between two readings it waits at most ten seconds.
  // kNotFound, kPermission, kIo: the file cannot be read.
  static Result<std::unique_ptr<Replay>> open(const std::string& path, double speed);

  Result<Reading> read(const std::stop_token& stop) override;
  // The last whole one, without waiting.
  Result<Reading> last();
  std::string name() const override { return "recording " + path_; }
  std::string note() const override { return note_; }
  bool paces() const override { return true; }
  void hold(bool held) override { held_ = held; }

 private:
  Replay(std::ifstream file, std::string path, double speed)
      : file_(std::move(file)), path_(std::move(path)), speed_(speed) {}
  std::optional<std::string> next_line();
  bool wait_for(const Reading& reading, const std::stop_token& stop);

  std::ifstream file_;
  const std::string path_;
  const double speed_;
  std::uint64_t line_ = 0;
  std::string note_;
  std::optional<std::chrono::system_clock::time_point> before_;
  std::atomic<bool> held_ = false;
};

}  // namespace tranche::top
