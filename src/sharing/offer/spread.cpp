#include "offer/spread.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <deque>
#include <map>
#include <tuple>

namespace tranche::offer {
namespace {

struct Fill {
  int total = 0;
  int in_use = 0;  // also ids beyond the offer
  int picked = 0;
};

struct Source {
  std::deque<std::size_t> free;  // the candidates on this device
  Fill fill;
  Fill* gpu = nullptr;
};

class Picker {
 public:
  Picker(const ResourceOffer& offer, bool packed, std::span<const std::size_t> candidates)
      : packed_(packed), sources_(offer.devices.size()) {
    for (std::size_t i = 0; i < sources_.size(); ++i) {
      sources_[i].gpu = &gpus_[offer.devices[i].gpu_index];
    }
    for (const Tranche& tranche : offer.tranches) count(sources_[tranche.device], 1);
    for (std::size_t i = 0; i < offer.beyond.size(); ++i) {
      sources_[i].fill.in_use += offer.beyond[i];
      sources_[i].gpu->in_use += offer.beyond[i];
    }
    for (const std::size_t candidate : candidates) {
      Source& source = sources_[offer.tranches[candidate].device];
      source.free.push_back(candidate);
      --source.fill.in_use;
      --source.gpu->in_use;
    }
    before_ = gpus_;
  }

  std::size_t pick() {
    Source* best = nullptr;
    for (Source& source : sources_) {
      if (!source.free.empty() && (best == nullptr || key(source) < key(*best))) best = &source;
    }
    const std::size_t tranche = best->free.front();
    best->free.pop_front();
    for (Fill* fill : {&best->fill, best->gpu}) {
      ++fill->in_use;
      ++fill->picked;
    }
    return tranche;
  }

  std::string reason() const {
    std::vector<std::string> parts;
    for (const auto& [index, fill] : gpus_) {
      if (fill.picked == 0) continue;
      parts.push_back(fmt::format("{} from GPU {} ({} of {} were in use)", fill.picked, index,
                                  before_.at(index).in_use, fill.total));
    }
    return fmt::format("{}: {}", packed_ ? "packed" : "distributed", fmt::join(parts, ", "));
  }

 private:
  static void count(Source& source, int tranches) {
    for (Fill* fill : {&source.fill, source.gpu}) {
      fill->total += tranches;
      fill->in_use += tranches;
    }
  }

  // Sources are in the order of the hardware, so equal keys go to the lowest index. A device on
  // which as many are held as it has tranches is taken last, though some of its tranches are free.
  std::tuple<bool, int, int, int, int> key(const Source& source) const {
    const int sign = packed_ ? -1 : 1;
    const bool full = source.fill.in_use >= source.fill.total;
    return {full, sign * source.gpu->in_use, source.gpu->picked, sign * source.fill.in_use,
            source.fill.picked};
  }

  bool packed_;
  std::vector<Source> sources_;  // by device
  std::map<int, Fill> gpus_;     // by GPU index; a std::map, so pointers to its entries stay valid
  std::map<int, Fill> before_;
};

}  // namespace

Spread spread(const ResourceOffer& offer, config::AllocationPolicy policy,
              std::span<const std::size_t> candidates, std::size_t count) {
  Picker picker(offer, policy == config::AllocationPolicy::kPacked, candidates);
  Spread out;
  for (std::size_t i = 0; i < count; ++i) out.tranches.push_back(picker.pick());
  out.reason = picker.reason();
  return out;
}

}  // namespace tranche::offer
