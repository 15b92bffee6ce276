#include "controller/web/access.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

#include "base/json.h"
#include "base/json_value.h"

namespace tranche::controller {
namespace {

constexpr std::chrono::seconds kLongestReview{5};
// For all namespaces of one request.
constexpr std::chrono::seconds kLongestSight{5};

constexpr const char* kPath = "nonResourceAttributes";
constexpr const char* kFleetPath = R"({"verb":"get","path":"/v1/fleet"})";
constexpr const char* kResource = "resourceAttributes";

cluster::Call call_of(const std::stop_token& stop) {
  return {.deadline = kLongestReview, .stop = stop};
}

std::string token_review(const std::string& token) {
  json::Value review = {{"apiVersion", cluster::kTokenReview.api_version()},
                        {"kind", cluster::kTokenReview.kind}};
  review["spec"]["token"] = token;
  return review.text();
}

// `attributes`: the member `kind` of the spec, as JSON.
std::string access_review(const Reader& reader, const char* kind, const std::string& attributes) {
  json::Value spec = {{"user", reader.user}, {"groups", reader.groups}};
  if (!reader.uid.empty()) spec["uid"] = reader.uid;
  if (!reader.extra.empty()) spec["extra"] = json::Value::raw(reader.extra);
  spec[kind] = json::Value::raw(attributes);
  json::Value review = {{"apiVersion", cluster::kSubjectAccessReview.api_version()},
                        {"kind", cluster::kSubjectAccessReview.kind}};
  review["spec"] = std::move(spec);
  return review.text();
}

std::string list_pods(const std::string& ns) {
  json::Value attributes = {{"verb", "list"}, {"resource", "pods"}, {"version", "v1"}};
  if (!ns.empty()) attributes["namespace"] = ns;
  return attributes.text();
}

Result<json::View> status_of(const std::string& answer) {
  ASSIGN_OR_RETURN(const auto root, json::parse(answer));
  const auto status = root.find("status");
  if (!status) return fail(Code::kUnavailable, "the API server's answer to a review has no status");
  return *status;
}

bool is_true(const json::View& object, std::string_view key) {
  const auto found = object.find(key);
  return found && found->as_bool().value_or(false);
}

std::string text_at(const json::View& object, std::string_view key) {
  const auto found = object.find(key);
  return found ? found->as_string().value_or("") : "";
}

Result<Reader> reader_in(const std::string& answer) {
  ASSIGN_OR_RETURN(const auto status, status_of(answer));
  if (!is_true(status, "authenticated")) {
    return fail(Code::kPermission, "the API server does not know the token");
  }
  const auto user = status.find("user").value_or(json::View());
  Reader reader{.user = text_at(user, "username"), .uid = text_at(user, "uid")};
  for (const auto& group : user.find("groups").value_or(json::View()).elements()) {
    reader.groups.push_back(group.as_string().value_or(""));
  }
  if (const auto extra = user.find("extra"); extra && extra->kind() == json::Kind::kObject) {
    reader.extra = extra->text();
  }
  if (reader.user.empty()) return fail(Code::kPermission, "the API server names no user");
  return reader;
}

// Whatever the API server did not answer is not known, and nobody comes in by it.
Error not_answered(Error error) {
  error.code = Code::kUnavailable;
  return error;
}

}  // namespace

bool Access::knows(const std::string& token) const {
  const std::scoped_lock lock(mutex_);
  const auto found = known_.find(token);
  if (found == known_.end()) return false;
  const auto& [at, reader, lists] = found->second;
  return clock_.now() - at < (reader ? kRecognized : kKept);
}

Result<Reader> Access::reader(const std::string& token, const std::stop_token& stop) {
  if (token.size() > kLongestToken) return fail(Code::kPermission, "the token is too long");
  {
    const std::scoped_lock lock(mutex_);
    const auto found = known_.find(token);
    if (found != known_.end() && clock_.now() - found->second.at < kKept) {
      return found->second.reader;
    }
  }
  auto asked = ask(token, stop);
  // What may be otherwise in a moment is not kept.
  if (asked || asked.error().code != Code::kUnavailable) remember(token, asked);
  return asked;
}

Result<Reader> Access::ask(const std::string& token, const std::stop_token& stop) {
  const auto answer = objects_.review(cluster::kTokenReview, token_review(token), call_of(stop));
  if (!answer) return std::unexpected(not_answered(answer.error()));
  ASSIGN_OR_RETURN(auto reader, reader_in(*answer));
  ASSIGN_OR_RETURN(const bool comes_in, may(reader, kPath, kFleetPath, stop));
  if (!comes_in) {
    return fail(Code::kFailedPrecondition,
                fmt::format("{} may not get the path /v1/fleet", reader.user),
                "bind the release's ClusterRole of viewers to them");
  }
  return reader;
}

Result<bool> Access::may(const Reader& reader, const char* kind, const std::string& attributes,
                         const std::stop_token& stop) {
  const auto answer = objects_.review(cluster::kSubjectAccessReview,
                                      access_review(reader, kind, attributes), call_of(stop));
  if (!answer) return std::unexpected(not_answered(answer.error()));
  const auto status = status_of(*answer);
  if (!status) return std::unexpected(not_answered(status.error()));
  return is_true(*status, "allowed") && !is_true(*status, "denied");
}

Result<bool> Access::may_list(const std::string& token, const Reader& reader, const std::string& ns,
                              const std::stop_token& stop) {
  {
    const std::scoped_lock lock(mutex_);
    const auto found = known_.find(token);
    if (found != known_.end()) {
      const auto kept = found->second.lists.find(ns);
      if (kept != found->second.lists.end()) return kept->second;
    }
  }
  ASSIGN_OR_RETURN(const bool allowed, may(reader, kResource, list_pods(ns), stop));
  const std::scoped_lock lock(mutex_);
  const auto found = known_.find(token);
  if (found != known_.end() && found->second.lists.size() <= kMostNamespaces) {
    found->second.lists[ns] = allowed;
  }
  return allowed;
}

Access::Sight Access::sight(const std::string& token, const Reader& reader,
                            const std::set<std::string>& namespaces, const std::stop_token& stop) {
  const auto end = clock_.now() + kLongestSight;
  Sight sight{.all = may_list(token, reader, "", stop).value_or(false)};
  if (sight.all) return sight;
  std::size_t asked = 0;
  for (const auto& ns : namespaces) {
    if (++asked > kMostNamespaces || clock_.now() > end || stop.stop_requested()) break;
    if (may_list(token, reader, ns, stop).value_or(false)) sight.some.insert(ns);
  }
  return sight;
}

void Access::remember(const std::string& token, Result<Reader> reader) {
  const std::scoped_lock lock(mutex_);
  const auto now = clock_.now();
  std::erase_if(known_, [&](const auto& entry) {
    const auto& [at, known, lists] = entry.second;
    return entry.first == token || now - at >= (known ? kRecognized : kKept);
  });
  if (known_.size() >= kMostReaders && !make_room(reader.has_value())) return;
  known_.emplace(token, Known{.at = now, .reader = std::move(reader)});
}

// The oldest of those who were refused goes first. Only a reader takes the place of a reader, so
// that nobody who makes up tokens pushes them out.
bool Access::make_room(bool for_reader) {
  auto oldest = known_.end();
  for (auto one = known_.begin(); one != known_.end(); ++one) {
    const bool is_reader = one->second.reader.has_value();
    if (is_reader && !for_reader) continue;
    const auto order = std::tuple(is_reader, one->second.at);
    if (oldest == known_.end() ||
        order < std::tuple(oldest->second.reader.has_value(), oldest->second.at)) {
      oldest = one;
    }
  }
  if (oldest == known_.end()) return false;
  known_.erase(oldest);
  return true;
}

}  // namespace tranche::controller
