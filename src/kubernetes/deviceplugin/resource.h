#pragma once
// One advertised resource, independent of gRPC: holds the published state and answers from it.
// Thread-safe: gRPC threads call it while the agent publishes.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>

#include "base/result.h"
#include "deviceplugin/resource_state.h"

namespace tranche::deviceplugin {

class Resource {
 public:
  // `store` is called with every grant before it is answered; its error fails the call.
  using Store = std::function<Result<void>(const offer::Grant&)>;
  // Called when kubelet asks for an id that the offer does not have: its list is not ours.
  using Refused = std::function<void(const std::string& resource, const Error& why)>;

  Resource(ResourceState state, Store store, Refused refused = {});

  // Replaces the state. Streams send again only if the device list has changed.
  void publish(ResourceState state);
  // Makes streams send the list again even if it has not changed.
  void resend();

  Result<offer::Grant> allocate(std::span<const std::string> ids) const;
  Result<offer::Preferred> preferred(const offer::PreferredRequest& request) const;

  struct Listing {
    std::shared_ptr<const offer::ResourceOffer> offer;
    std::uint64_t version = 0;  // increases with every change of the list; starts at 1
  };
  Listing listing() const;
  using Listener = std::uint64_t;
  // Calls `listener` after each change of the list, on the thread that made it. It must not call
  // listen() or forget().
  Listener listen(std::function<void()> listener);
  // After it returns, the listener no longer runs.
  void forget(Listener listener);

 private:
  struct Published {
    explicit Published(ResourceState state);
    offer::GrantMaker maker;
    config::AllocationPolicy policy;
    std::shared_ptr<const offer::Links> links;
  };
  std::shared_ptr<const Published> current() const;
  void tell() const;

  Store store_;
  Refused refused_;
  mutable std::mutex mutex_;
  std::shared_ptr<const Published> published_;
  std::uint64_t version_ = 1;
  mutable std::mutex listening_;  // held while a listener runs
  std::map<Listener, std::function<void()>> listeners_;
  Listener next_listener_ = 0;
};

}  // namespace tranche::deviceplugin
