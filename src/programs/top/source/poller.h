#pragma once
// Reads a source again and again on a thread of its own, so that one that hangs never hangs the
// keys.

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>

#include "top/source/recording.h"
#include "top/source/source.h"

namespace tranche::top {

class Poller {
 public:
  struct Latest {
    std::shared_ptr<const Reading> reading;  // null: none yet
    std::size_t number = 0;                  // counts the readings
    std::chrono::steady_clock::time_point at{};
    std::string name{};     // of the source
    std::string trouble{};  // why the last try failed; empty: it did not
    std::string note{};     // of the source, and of the recording
    bool ended = false;     // there will be no more
  };

  // `recorder` may be null.
  Poller(std::unique_ptr<Source> source, std::unique_ptr<Recorder> recorder,
         std::chrono::milliseconds interval);

  Latest latest() const;
  void hold(bool held) { source_->hold(held); }
  // Asks the thread to end, and waits for it. False: a call hangs, and does not end in time.
  bool stop(std::chrono::milliseconds longest);

 private:
  void run(const std::stop_token& stop);
  void read_once(const std::stop_token& stop);

  const std::unique_ptr<Source> source_;
  const std::unique_ptr<Recorder> recorder_;
  const std::chrono::milliseconds interval_;
  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  Latest latest_;        // guarded by mutex_
  bool done_ = false;    // guarded by mutex_
  std::jthread thread_;  // the last member: it uses the others
};

}  // namespace tranche::top
