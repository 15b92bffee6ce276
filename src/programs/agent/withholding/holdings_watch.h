#pragma once
// Asks kubelet who holds what, on its own thread, and enters it in the book: about once a second
// while something is withheld, so that it is handed out as soon as its last holder has gone; and
// after a grant until kubelet has named it. Otherwise it enters the answers to others' questions.
//
// Kubelet's checkpoint names containers that have gone until kubelet writes it after the next list
// of devices. So the watch has the lists sent again where only the checkpoint names a holder.

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
    std::function<void()> look_again;        // has a new offer made; from any thread
    std::function<void()> renew_checkpoint;  // has kubelet write its checkpoint; from any thread
    std::chrono::milliseconds interval = std::chrono::seconds(1);
  };

  explicit HoldingsWatch(Parts parts);

  // What is withheld now, and for whom. `counts`: the offer depends on what is held, though nothing
  // is withheld for it. True: kubelet has been asked about all of it, or could not be.
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
  bool news_ = false;   // wanted_ has grown since the last turn began
  bool asked_ = false;  // kubelet has answered about all of it, or does not
  // Only on the watch's thread, from here.
  HolderAnswers::Answer applied_;  // the last answer in the book; null: none
  Backoff quick_;                  // between turns after a change
  Backoff renewing_;               // between two requests to write the checkpoint
  std::chrono::steady_clock::time_point renew_at_{};
  bool was_unclear_ = false;  // in the previous turn
  int turns_ = 0;             // since the last news
  SaidOnce said_;
  std::jthread thread_;  // last: it uses the others
};

}  // namespace tranche::agent
