#pragma once
// Asks kubelet who holds what, on a thread of its own, and enters it in the book. It asks when
// something is withheld, about once a second, so that it is handed out again as soon as its last
// holder has gone; and after a grant until kubelet has named it. Else it does not ask, and enters
// what others asked.
//
// Kubelet's checkpoint names containers that have gone until it is written again. Kubelet does that
// after each list of devices, so the watch has the lists sent again where only the checkpoint names
// a holder.

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

#include "agent/holdings/book.h"
#include "agent/holdings/holder_answers.h"
#include "base/backoff.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/said_once.h"

namespace tranche::agent {

class HoldingsWatch {
 public:
  struct Parts {
    Book& book;
    HolderAnswers& answers;
    const Clock& clock;
    const Log& log;
    std::function<void()> look_again;        // has the agent make an offer anew; from any thread
    std::function<void()> renew_checkpoint;  // has kubelet write its checkpoint anew; likewise
    std::chrono::milliseconds interval = std::chrono::seconds(1);
  };

  explicit HoldingsWatch(Parts parts);

  // What is withheld now, and for whom. `counts`: the offer counts on what is held, though nothing
  // is withheld for it. True: kubelet has been asked about all that is withheld, or could not be.
  bool withheld_for(const std::vector<holdings::Holding>& held, bool counts = false);

 private:
  using Keys = std::set<std::pair<std::string, std::string>>;  // (resource, id)

  void run(const std::stop_token& stop);
  std::chrono::milliseconds pause();
  void start_anew();
  void turn(bool withholds);
  void apply_others(bool counts);
  std::optional<Book::Changes> ask();
  bool ends_asking(bool clear);
  void renew();

  Parts parts_;
  std::mutex mutex_;  // guards the members below
  std::condition_variable_any wake_;
  Keys wanted_;  // what is withheld for
  bool counts_ = false;
  bool news_ = false;   // there is more in it than in the turn that began last
  bool asked_ = false;  // kubelet has told of all of it, or does not
  // The members below are of the thread.
  HolderAnswers::Answer applied_;  // the last answer in the book; null: none
  Backoff quick_;                  // between turns, from a change on
  Backoff renewing_;               // between two requests to write the checkpoint
  std::chrono::steady_clock::time_point renew_at_{};
  bool was_unclear_ = false;  // Book::Changes::unclear of the turn before
  int turns_ = 0;             // since the last news
  SaidOnce said_;
  std::jthread thread_;  // last: it uses the others
};

}  // namespace tranche::agent
