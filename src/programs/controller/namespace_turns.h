#pragma once
// How many calls of one namespace are under way at once. Each may wait for the API server for
// seconds, and there are few handlers: a namespace with so many claims that its calls take long
// keeps its own waiting and leaves handlers for others.
//
// Thread-safe.

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <map>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>

namespace tranche::controller {

class NamespaceTurns {
 public:
  struct Options {
    std::size_t at_once = 4;  // of one namespace
    // Who gets no turn by then is sent away: a handler that waits is one less for others, too.
    std::chrono::milliseconds patience{250};
  };

  explicit NamespaceTurns(Options options) : options_(options) {}

  // Lasts as long as it lives. Not beyond its NamespaceTurns.
  class Turn {
   public:
    Turn(NamespaceTurns& turns, std::string ns) : turns_(&turns), ns_(std::move(ns)) {}
    ~Turn();
    Turn(Turn&& other) noexcept;
    Turn& operator=(Turn&&) = delete;
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

   private:
    NamespaceTurns* turns_;
    std::string ns_;
  };

  // nullopt: others of the namespace have taken all, and none has ended in time.
  std::optional<Turn> take(const std::string& ns, const std::stop_token& stop);

 private:
  void end(const std::string& ns);

  const Options options_;
  std::mutex mutex_;
  std::condition_variable_any ended_;
  std::map<std::string, std::size_t> under_way_;  // guarded by mutex_; none is 0
};

}  // namespace tranche::controller
