#pragma once
// A device that containers hold differently from the present offer is not handed out until they
// have gone (offer/withholding.h): input and stage.

#include <functional>
#include <optional>

#include "agent/holdings/book.h"
#include "agent/loop/stage.h"
#include "agent/withholding/held_standing.h"
#include "agent/withholding/holdings_watch.h"
#include "cluster/pod_resources.h"

namespace tranche::agent {

// Finds what conflicts with the wished offer.
class WithholdingInput final : public Input {
 public:
  // The part of a holding's device that its tenant has now; nullopt: not limited.
  using Part = std::function<Result<std::optional<DeviceLimits>>(const holdings::Holding& holding)>;
  // `part` reads a small file; it may be empty.
  WithholdingInput(Book& book, cluster::PodResources& pod_resources, HoldingsWatch::Parts watch,
                   Part part);

  void look(const offer::Offer& wished, State& state) override;

 private:
  void add_parts(const offer::Offer& wished, std::vector<holdings::Holding>& held) const;

  Book& book_;
  Part part_;
  cluster::PodResources& pod_resources_;
  HoldingsWatch watch_;
};

offer::Offer withhold_what_is_held(const State& state, offer::Offer offer);

}  // namespace tranche::agent
