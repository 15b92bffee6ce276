#pragma once
// The API server over HTTPS: the adapter of cluster::Objects.
//
// Each call borrows a connection from a small pool of idle ones, and reads its answer into memory
// up to a limit. A watch has its own connection and holds one event at a time. A request that does
// no harm when it is sent twice is sent again within the call's deadline: a read, or a request that
// the server refused before it began (429, and 503 with Retry-After). Credential files are read
// again when they have changed, and once when the server answers 401.
//
// Thread-safe. Starts no thread.

#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>

#include "base/log.h"
#include "base/result.h"
#include "cluster/objects.h"
#include "kube/credentials.h"

namespace tranche::kube {

class Client final : public cluster::Objects {
 public:
  struct Options {
    std::string user_agent = "tranche";
    std::string field_manager = "tranche";  // for a create or update that names none
    std::chrono::milliseconds connect_timeout = std::chrono::seconds(10);
    std::size_t max_object_bytes = std::size_t{4} << 20U;  // of an object, or an event of a watch
    std::size_t max_list_bytes = std::size_t{64} << 20U;   // of one page
    int page = 500;                                        // objects in one page of a list
    // The client asks the server to end a watch after this time. If no byte (not even a bookmark)
    // arrives for one and a half times as long, the connection is dead.
    std::chrono::seconds watch_time = std::chrono::minutes(5);
    // Must outlive the client. Null: nothing is logged.
    const Log* log = nullptr;
  };

  // Reads the credential files once, so that an error in them is reported at startup. Does not
  // connect.
  static Result<std::unique_ptr<Client>> open(Credentials credentials, Options options);
  static Result<std::unique_ptr<Client>> open(Credentials credentials) {
    return open(std::move(credentials), Options());
  }
  ~Client() override;

  Result<cluster::Object> get(const cluster::Kind& kind, const cluster::ObjectKey& key,
                              const cluster::Call& call = {}) override;
  Result<cluster::ObjectList> list(const cluster::Kind& kind, const cluster::ListOptions& options,
                                   const cluster::Call& call = {}) override;
  Result<std::string> list_pages(const cluster::Kind& kind, const cluster::ListOptions& options,
                                 const cluster::PageHandler& take,
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
  Result<void> evict(const cluster::ObjectKey& pod, const std::string& uid,
                     const cluster::Call& call = {}) override;

 private:
  class Impl;
  explicit Client(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace tranche::kube
