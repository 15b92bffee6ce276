#pragma once
// A cluster::Objects that keeps state as an API server does: resource versions, conflicts,
// server-side apply with owners of fields, watches that continue from a version, and one that is
// too old. tests/contract/objects_contract_test.cpp runs the same cases on it and on a real one.
//
// Differences: objects are not validated, namespaces need not exist, lists are owned and merged as
// a whole (except status.conditions, by type), and metadata.managedFields is not shown. Failures on
// request. Thread-safe; watches really block.

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/objects.h"

namespace tranche::test {

class FakeObjects final : public cluster::Objects {
 public:
  FakeObjects();
  ~FakeObjects() override;

  Result<cluster::Object> get(const cluster::Kind& kind, const cluster::ObjectKey& key,
                              const cluster::Call& call = {}) override;
  Result<cluster::ObjectList> list(const cluster::Kind& kind, const cluster::ListOptions& options,
                                   const cluster::Call& call = {}) override;
  Result<cluster::WatchEnd> watch(const cluster::Kind& kind, const cluster::WatchOptions& options,
                                  const cluster::WatchHandler& handler,
                                  std::stop_token stop) override;
  Result<cluster::Object> create(const cluster::Kind& kind, const std::string& ns,
                                 std::string_view json, const cluster::Call& call = {}) override;
  Result<cluster::Object> update(const cluster::Kind& kind, const cluster::ObjectKey& key,
                                 std::string_view json, const std::string& subresource = {},
                                 const cluster::Call& call = {}) override;
  Result<cluster::Object> patch(const cluster::Kind& kind, const cluster::ObjectKey& key,
                                const cluster::Patch& patch,
                                const cluster::Call& call = {}) override;
  Result<cluster::Object> apply(const cluster::Kind& kind, const cluster::ObjectKey& key,
                                const cluster::Apply& apply,
                                const cluster::Call& call = {}) override;
  Result<void> remove(const cluster::Kind& kind, const cluster::ObjectKey& key,
                      const cluster::Preconditions& preconditions = {},
                      const cluster::Call& call = {}) override;
  Result<std::string> review(const cluster::Kind& kind, std::string_view json,
                             const cluster::Call& call = {}) override;
  // The Pod is gone at once.
  Result<void> evict(const cluster::ObjectKey& pod, const std::string& uid,
                     const cluster::Call& call = {}) override;

  // Changes by others, seen by watches and not recorded as a call. `json` needs only metadata.name;
  // an object of that name is replaced as a whole, status included.
  cluster::Object put(const cluster::Kind& kind, std::string_view json);
  void erase(const cluster::Kind& kind, const cluster::ObjectKey& key);
  // The object's text as it is now; empty when there is none.
  std::string text(const cluster::Kind& kind, const cluster::ObjectKey& key) const;

  // Who answers reviews; without one they are answered with "{}".
  using Reviewer = std::function<std::string(const cluster::Kind&, std::string_view json)>;
  void answer_reviews(Reviewer reviewer);

  // Calls of `verb` ("get", ..., "remove"; empty: all) on `kind` fail with it: the next `times`, or
  // until recover() when negative. Open watches continue.
  void refuse(const std::string& verb, const cluster::Kind& kind, Error error, int times = -1);
  void recover();
  // The kind's definition is missing, or there again.
  void serve(const cluster::Kind& kind, bool served);
  // Every version until now is too old to watch from; open watches end with 410.
  void compact();
  // Every open watch ends as after its time.
  void close_watches();
  // Watches of the kind receive nothing while held, as when the server lags behind.
  void hold_watches(const cluster::Kind& kind, bool held);
  // Every open watch receives the present version.
  void send_bookmarks();

  // "get configmaps ns/name", "list pods", "list pods not before 0", "watch pods 12": in order.
  std::vector<std::string> calls() const;
  // How many of them begin with it.
  std::ptrdiff_t count_calls(const std::string& beginning) const;
  std::size_t open_watches() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tranche::test
