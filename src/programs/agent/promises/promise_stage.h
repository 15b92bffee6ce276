#pragma once
// The agent's part in keeping promises: a device that containers hold under an earlier promise is
// not handed out under another one until they have gone (offer/promises.h).

#include <functional>
#include <optional>

#include "agent/loop/stage.h"
#include "agent/promises/promise_book.h"
#include "agent/promises/promise_watch.h"
#include "cluster/pod_resources.h"

namespace tranche::agent {

// Finds what is promised otherwise than the wished offer promises it.
class PromiseInput final : public Input {
 public:
  // The part of a promise's device that its tenant has now; nullopt: it is not limited.
  using Part = std::function<Result<std::optional<DeviceLimits>>(const offer::Promise& promise)>;
  // The references outlive it. `part` reads a small file; it may be empty.
  PromiseInput(PromiseBook& book, cluster::PodResources& pod_resources, PromiseWatch::Parts watch,
               Part part);

  void look(const offer::Offer& wished, State& state) override;

 private:
  void add_parts(const offer::Offer& wished, std::vector<offer::Promise>& promises) const;

  PromiseBook& book_;
  Part part_;
  cluster::PodResources& pod_resources_;
  PromiseWatch watch_;
};

// Withholds it.
offer::Offer withhold_what_is_promised(const State& state, offer::Offer offer);

}  // namespace tranche::agent
