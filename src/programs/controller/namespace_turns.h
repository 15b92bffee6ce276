#pragma once
// Limits how many calls of one namespace run at once. Each may wait seconds for the API server, and
// there are few handlers: a namespace with slow calls delays only itself.
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
    // How long take() waits for a turn. Short, because a waiting handler is missing elsewhere.
    std::chrono::milliseconds patience{250};
  };

  explicit NamespaceTurns(Options options) : options_(options) {}

  // Held until destroyed. Must not outlive its NamespaceTurns.
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

  // nullopt: all turns of the namespace are taken, and none ended in time.
  std::optional<Turn> take(const std::string& ns, const std::stop_token& stop);

 private:
  void end(const std::string& ns);

  const Options options_;
  std::mutex mutex_;
  std::condition_variable_any ended_;
  std::map<std::string, std::size_t> under_way_;  // guarded by mutex_; none is 0
};

}  // namespace tranche::controller
