#pragma once
// Asks kubelet who holds what, on a thread of its own, and enters it in the book. It asks when
// something is withheld, about once a second, so that it is handed out again as soon as its last
// holder has gone; after a grant until kubelet has named it; and every 30 s while tranches are held
// that the offer has no more. Else it does not ask.
//
// Kubelet's checkpoint names containers that have gone until it is written anew. Kubelet does that
// behind each list of devices, so the watch has the lists sent again where the checkpoint alone
// names a holder.

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "agent/promises/promise_book.h"
#include "base/backoff.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/said_once.h"
#include "cluster/pod_resources.h"

namespace tranche::agent {

class PromiseWatch {
 public:
  struct Parts {
    PromiseBook& book;
    cluster::PodResources& pod_resources;
    const Clock& clock;
    const Log& log;
    std::function<void()> look_again;        // has the agent make an offer anew; from any thread
    std::function<void()> renew_checkpoint;  // has kubelet write its checkpoint anew; likewise
    std::chrono::milliseconds interval = std::chrono::seconds(1);
  };

  // The references outlive it.
  explicit PromiseWatch(Parts parts);

  // What is withheld now, and for whom. True: kubelet has been asked about all of it, or could not
  // be.
  bool withheld_for(const std::vector<offer::Promise>& promises);
  // Whether to ask now and then though nothing is withheld: what is held beyond the offer ends too.
  void look_now_and_then(bool wanted) { now_and_then_ = wanted; }

 private:
  using Keys = std::set<std::pair<std::string, std::string>>;  // (resource, id)

  void run(const std::stop_token& stop);
  std::chrono::milliseconds pause();
  bool is_due(bool withholds);
  void start_anew();
  void turn(bool withholds);
  std::optional<PromiseBook::Heard> ask();
  bool ends_asking(bool clear);
  void renew();

  Parts parts_;
  std::mutex mutex_;  // guards the members below
  std::condition_variable_any wake_;
  Keys wanted_;         // what is withheld for
  bool news_ = false;   // there is more in it than in the turn that began last
  bool asked_ = false;  // kubelet has told of all of it, or does not
  std::atomic<bool> now_and_then_ = false;
  // The members below are of the thread.
  std::chrono::steady_clock::time_point asked_at_{};
  Backoff quick_;     // between turns, from a change on
  Backoff renewing_;  // between two requests to write the checkpoint
  std::chrono::steady_clock::time_point renew_at_{};
  bool was_unclear_ = false;  // PromiseBook::Heard::unclear of the turn before
  int turns_ = 0;             // since the last news
  SaidOnce said_;
  std::jthread thread_;  // last: it uses the others
};

}  // namespace tranche::agent
