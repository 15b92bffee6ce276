#pragma once
// The agent's part in keeping promises: a device that containers hold under an earlier promise is
// not handed out under another one until they have gone (offer/promises.h).

#include "agent/loop/stage.h"
#include "agent/promises/promise_book.h"
#include "agent/promises/promise_watch.h"
#include "cluster/pod_resources.h"

namespace tranche::agent {

// Finds what is promised otherwise than the wished offer promises it.
class PromiseInput final : public Input {
 public:
  // The references outlive it. `watch`: the watch's parts but the book.
  PromiseInput(PromiseBook& book, PromiseWatch::Parts watch);

  void look(const offer::Offer& wished, State& state) override;

 private:
  PromiseBook& book_;
  cluster::PodResources& pod_resources_;
  PromiseWatch watch_;
};

// Withholds it.
offer::Offer withhold_what_is_promised(const State& state, offer::Offer offer);

}  // namespace tranche::agent
