#pragma once
// Asks the agents who uses what (usage/v1), every few seconds while somebody wants to know, and
// else not at all. At most kAtOnce agents are asked at once, each for at most kLongestAnswer; one
// that has failed several times is asked less often. What an agent says is believed of its own node
// only, and is bounded: all answers together take at most kMostBytes, of which each node has an
// equal part, and more where others leave some.
//
// Thread-safe. The destructor ends what is under way.

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "fleet/make_fleet.h"

namespace tranche::controller {

// The agent of a node.
struct AgentPlace {
  std::string node;
  std::string address;  // of its Pod: "10.0.0.7", "fd00::7"
  bool operator==(const AgentPlace&) const = default;
};

class Collector {
 public:
  struct Ports {
    // Who could be asked now: one place a node. Called on the collector's thread.
    std::function<std::vector<AgentPlace>()> agents;
    // GET /usage of the place. Called on several threads at once.
    std::function<Result<std::string>(const AgentPlace&, std::chrono::milliseconds longest,
                                      const std::stop_token&)>
        ask;
  };
  static constexpr std::size_t kMostBytes = std::size_t{192} << 20U;
  struct Options {
    std::chrono::milliseconds every = std::chrono::seconds(5);
    std::chrono::milliseconds wanted_for = std::chrono::seconds(60);  // after the last look
    std::chrono::milliseconds fresh_for = std::chrono::seconds(16);
    std::chrono::milliseconds longest_answer = std::chrono::seconds(3);
    std::chrono::milliseconds kept_for = std::chrono::hours(1);  // without an agent
    std::chrono::milliseconds rest = std::chrono::seconds(30);  // of one that fails again and again
    std::size_t most_bytes = kMostBytes;
  };

  // `clock` outlives this.
  Collector(Ports ports, const Clock& clock, Options options);
  Collector(Ports ports, const Clock& clock) : Collector(std::move(ports), clock, Options()) {}
  ~Collector();
  Collector(const Collector&) = delete;
  Collector& operator=(const Collector&) = delete;

  // Somebody looks: agents are asked from now on. Waits at most `patience` until each has been
  // asked once, if nobody has looked lately.
  void want(std::chrono::milliseconds patience);
  // Whether agents are asked at the moment.
  bool is_wanted() const;
  // What is known now.
  fleet::Reports reports() const;

  static constexpr std::size_t kAtOnce = 16;
  static constexpr std::size_t kLongestText = std::size_t{4} << 20U;  // of one answer
  static constexpr unsigned kFailures = 3;                            // before it rests

 private:
  using Time = std::chrono::steady_clock::time_point;
  struct Known {
    std::shared_ptr<const usage::NodeUsage> usage;  // the last answer; null: none
    Time answered;                                  // when it came
    std::string why;                                // the last failure; empty: it answered
    std::size_t bytes = 0;                          // of it
    unsigned failures = 0;                          // since then
    Time asked;
  };

  void run(const std::stop_token& stop);
  void round(const std::stop_token& stop);
  std::vector<AgentPlace> due(const std::vector<AgentPlace>& places);
  void ask(const AgentPlace& place, const std::stop_token& stop);
  void keep(const AgentPlace& place, Result<usage::NodeUsage> answer);
  Result<usage::NodeUsage> answer_of(const AgentPlace& place, const std::stop_token& stop);
  Result<void> weigh(Known& known, std::size_t bytes);

  const Ports ports_;
  const Clock& clock_;
  const Options options_;
  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  // Guarded by mutex_.
  std::optional<Time> looked_;
  std::size_t rounds_ = 0;              // complete ones
  std::map<std::string, Known> known_;  // by node
  std::size_t bytes_ = 0;               // of all usage in it

  std::mutex parsing_;   // one answer at a time is taken apart: it takes more memory than its text
  std::jthread thread_;  // last: it uses the others
};

}  // namespace tranche::controller
