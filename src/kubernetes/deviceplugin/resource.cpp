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

Resource::Resource(ResourceState state, Store store, Refused refused)
    : store_(std::move(store)),
      refused_(std::move(refused)),
      published_(std::make_shared<const Published>(std::move(state))) {}

void Resource::publish(ResourceState state) {
  auto next = std::make_shared<const Published>(std::move(state));
  bool changed = false;
  {
    const std::scoped_lock lock(mutex_);
    changed = !same_list(next->maker.offer(), published_->maker.offer());
    if (changed) ++version_;
    published_ = std::move(next);
  }
  if (changed) tell();
}

void Resource::resend() {
  {
    const std::scoped_lock lock(mutex_);
    ++version_;
  }
  tell();
}

std::shared_ptr<const Resource::Published> Resource::current() const {
  const std::scoped_lock lock(mutex_);
  return published_;
}

Result<offer::Grant> Resource::allocate(std::span<const std::string> ids) const {
  const auto now = current();
  const auto fresh_id = needs_id(now->maker) ? random_uuid() : std::string();
  auto grant = now->maker.make(ids, fresh_id);
  if (!grant && grant.error().code == Code::kNotFound && refused_) {
    refused_(now->maker.offer().name.value, grant.error());
  }
  if (!grant) return grant;
  TRY(store_(*grant));
  return grant;
}

Result<offer::Preferred> Resource::preferred(const offer::PreferredRequest& request) const {
  const auto now = current();
  return offer::preferred_allocation(now->maker.offer(), now->links.get(), now->policy, request);
}

Resource::Listing Resource::listing() const {
  const std::scoped_lock lock(mutex_);
  return {std::shared_ptr<const offer::ResourceOffer>(published_, &published_->maker.offer()),
          version_};
}

Resource::Listener Resource::listen(std::function<void()> listener) {
  const std::scoped_lock lock(listening_);
  listeners_.emplace(next_listener_, std::move(listener));
  return next_listener_++;
}

void Resource::forget(Listener listener) {
  const std::scoped_lock lock(listening_);
  listeners_.erase(listener);
}

void Resource::tell() const {
  const std::scoped_lock lock(listening_);
  for (const auto& [id, listener] : listeners_) listener();
}

}  // namespace tranche::deviceplugin
