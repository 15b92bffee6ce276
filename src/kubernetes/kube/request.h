#pragma once
// A request to the API server, in terms of HTTP, our messages and RBAC rules.

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "cluster/kinds.h"
#include "cluster/object.h"

namespace tranche::kube {

struct Request {
  std::string_view verb;  // RBAC's: get, list, watch, create, update, patch, delete
  cluster::Kind kind;
  cluster::ObjectKey key;  // empty name: all objects of the kind, in one namespace or in all
  std::string subresource = {};

  std::string_view method = "GET";
  std::string query = {};  // as query_of() makes it
  std::string body = {};
  std::string_view content_type = "application/json";
  bool once = false;  // the client never repeats it, whatever the response

  // Whether it is safe to send twice.
  bool reads() const { return method == "GET"; }
  // "get configmaps x/y", "patch nodes/status n". Every message begins with this.
  std::string describe() const;
  // "configmaps", "nodes/status", "leases.coordination.k8s.io", as RBAC rules name it.
  std::string resource() const;
  // "/api/v1/namespaces/x/configmaps/y?limit=500". kInvalidArgument: an invalid key.
  Result<std::string> target() const;
};

// "a=b&c=d", percent-encoded. Parameters with an empty value are omitted.
std::string query_of(
    std::initializer_list<std::pair<std::string_view, std::string_view>> parameters);

}  // namespace tranche::kube
