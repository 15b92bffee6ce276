#include "controller/namespace_turns.h"

#include <utility>

namespace tranche::controller {

NamespaceTurns::Turn::Turn(Turn&& other) noexcept
    : turns_(std::exchange(other.turns_, nullptr)), ns_(std::move(other.ns_)) {}

NamespaceTurns::Turn::~Turn() {
  if (turns_ != nullptr) turns_->end(ns_);
}

std::optional<NamespaceTurns::Turn> NamespaceTurns::take(const std::string& ns,
                                                         const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  const auto has_room = [&] {
    const auto found = under_way_.find(ns);
    return found == under_way_.end() || found->second < options_.at_once;
  };
  if (!ended_.wait_for(lock, stop, options_.patience, has_room)) return std::nullopt;
  ++under_way_[ns];
  return Turn(*this, ns);
}

void NamespaceTurns::end(const std::string& ns) {
  {
    const std::scoped_lock lock(mutex_);
    const auto found = under_way_.find(ns);
    if (--found->second == 0) under_way_.erase(found);
  }
  ended_.notify_all();
}

}  // namespace tranche::controller
