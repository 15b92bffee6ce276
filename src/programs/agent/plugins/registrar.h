#pragma once
// Keeps resources registered with kubelet, however long it is away. Each resource is a job of a
// Retrier.

#include <functional>
#include <stop_token>
#include <string>

#include "base/retrier.h"

namespace tranche::agent {

class Registrar {
 public:
  struct Request {
    std::string resource;
    std::string endpoint;
  };
  // One attempt; may block for seconds, but ends soon after a stop request.
  using Attempt = std::function<Result<void>(const Request&, const std::stop_token&)>;

  Registrar(Attempt attempt, const Log& log) : Registrar(std::move(attempt), log, {}) {}
  Registrar(Attempt attempt, const Log& log, Backoff backoff)
      : attempt_(std::move(attempt)), retrier_(log, backoff) {}

  // Registers the resource (again), beginning with the first back-off step.
  void request(const Request& request) {
    retrier_.request(
        {.key = request.resource,
         .attempt = [this,
                     request](const std::stop_token& stop) { return attempt_(request, stop); },
         .done = "registered " + request.resource + " with kubelet"});
  }
  // Stops for a resource that is no longer advertised.
  void forget(const std::string& resource) { retrier_.forget(resource); }

 private:
  Attempt attempt_;
  Retrier retrier_;
};

}  // namespace tranche::agent
