#pragma once
// What is asked of the API server: in HTTP's words, and in those of messages and RBAC rules.

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
  cluster::ObjectKey key;  // name empty: the kind's objects of a namespace, or of all
  std::string subresource = {};

  std::string_view method = "GET";
  std::string query = {};  // of query_of()
  std::string body = {};
  std::string_view content_type = "application/json";
  bool once = false;  // not asked again by itself, whatever the server answers

  // May be asked twice without harm.
  bool reads() const { return method == "GET"; }
  // "get configmaps x/y", "patch nodes/status n": the head of every message.
  std::string describe() const;
  // "configmaps", "nodes/status", "leases.coordination.k8s.io": for RBAC rules.
  std::string resource() const;
  // "/api/v1/namespaces/x/configmaps/y?limit=500". kInvalidArgument for a key that cannot be one.
  Result<std::string> target() const;
};

// "a=b&c=d", percent-encoded, without the empty ones.
std::string query_of(
    std::initializer_list<std::pair<std::string_view, std::string_view>> parameters);

}  // namespace tranche::kube
