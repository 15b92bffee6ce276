#include "deviceplugin/resource.h"

#include <algorithm>

#include "base/uuid.h"

namespace tranche::deviceplugin {
namespace {

bool needs_id(const offer::GrantMaker& maker) {
  const auto& strategies = maker.options().list_strategies;
  return maker.offer().limits ||
         std::ranges::find(strategies, config::DeviceListStrategy::kCdiAnnotations) !=
             strategies.end();
}

// Whether kubelet would see the same list.
bool same_list(const offer::ResourceOffer& a, const offer::ResourceOffer& b) {
  return a.devices == b.devices && a.tranches == b.tranches;
}

}  // namespace

Resource::Published::Published(ResourceState state)
    : maker(std::move(state.offer), std::move(state.grant_options)),
      policy(state.policy),
      links(std::move(state.links)) {}

Resource::Resource(ResourceState state, Store store)
    : store_(std::move(store)), published_(std::make_shared<const Published>(std::move(state))) {}

void Resource::publish(ResourceState state) {
  auto next = std::make_shared<const Published>(std::move(state));
  {
    const std::scoped_lock lock(mutex_);
    if (!same_list(next->maker.offer(), published_->maker.offer())) ++version_;
    published_ = std::move(next);
  }
  changed_.notify_all();
}

void Resource::resend() {
  {
    const std::scoped_lock lock(mutex_);
    ++version_;
  }
  changed_.notify_all();
}

std::shared_ptr<const Resource::Published> Resource::current() const {
  const std::scoped_lock lock(mutex_);
  return published_;
}

Result<offer::Grant> Resource::allocate(std::span<const std::string> ids) const {
  const auto now = current();
  const auto fresh_id = needs_id(now->maker) ? random_uuid() : std::string();
  ASSIGN_OR_RETURN(auto grant, now->maker.make(ids, fresh_id));
  TRY(store_(grant));
  return grant;
}

Result<offer::Preferred> Resource::preferred(const offer::PreferredRequest& request) const {
  const auto now = current();
  return offer::preferred_allocation(now->maker.offer(), now->links.get(), now->policy, request);
}

Resource::Listing Resource::listing_locked() const {
  return {std::shared_ptr<const offer::ResourceOffer>(published_, &published_->maker.offer()),
          version_};
}

Resource::Listing Resource::listing() const {
  const std::scoped_lock lock(mutex_);
  return listing_locked();
}

Resource::Listing Resource::wait_for_change(std::uint64_t seen, std::chrono::milliseconds timeout,
                                            std::stop_token stop) const {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, std::move(stop), timeout, [&] { return version_ != seen; });
  return listing_locked();
}

}  // namespace tranche::deviceplugin
