#include "admission/review.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/base64.h"
#include "base/json_fields.h"
#include "base/json_value.h"
#include "base/utf8.h"

namespace tranche::admission {
namespace {

constexpr std::string_view kReviewVersion = "admission.k8s.io/v1";
constexpr std::string_view kReviewKind = "AdmissionReview";
// A uid is a UUID. It is repeated in the answer, so its length is limited.
constexpr std::size_t kLongestUid = 128;
constexpr std::size_t kMostWarnings = 8;
constexpr std::size_t kLongestWarning = 256;

struct HttpStatus {
  int code;
  const char* reason;  // metav1.StatusReason
};

HttpStatus status_of(Code code) {
  switch (code) {
    case Code::kInvalidArgument:
      return {422, "Invalid"};
    case Code::kFailedPrecondition:
    case Code::kAlreadyExists:
    case Code::kPermission:
      return {403, "Forbidden"};
    case Code::kUnavailable:
    case Code::kTimeout:
      return {503, "ServiceUnavailable"};
    default:
      return {500, "InternalError"};
  }
}

json::Value answer(json::Value response) {
  json::Value review = json::Value::object();
  review["apiVersion"] = kReviewVersion;
  review["kind"] = kReviewKind;
  review["response"] = std::move(response);
  return review;
}

json::Value warnings_for_users(const std::vector<std::string>& warnings) {
  json::Value list = json::Value::array();
  for (std::size_t i = 0; i < std::min(warnings.size(), kMostWarnings); ++i) {
    list.push_back(std::string(utf8_prefix(warnings[i], kLongestWarning)));
  }
  return list;
}

std::string spec_of(json::View object) {
  const auto spec = object.find("spec");
  return spec ? json::Value::copy(*spec).text(json::Value::Order::kSorted) : "";
}

bool is_pod(json::View object) {
  const auto kind = object.find("kind");
  return kind && kind->as_string() == "Pod";
}

bool is_object(const std::optional<json::View>& view) {
  return view && view->kind() == json::Kind::kObject;
}

}  // namespace

Result<Review> read_review(std::string_view body) {
  if (body.size() > kLongestReview) {
    return fail(Code::kInvalidArgument, fmt::format("the review has {} bytes, at most {} are read",
                                                    body.size(), kLongestReview));
  }
  auto root = json::parse_strict(body);
  if (!root) return std::unexpected(std::move(root).error().with_context(kReviewKind));
  if (root->kind() != json::Kind::kObject) {
    return fail(Code::kInvalidArgument,
                fmt::format("{}: it is {}", kReviewKind, json::describe(root->kind())));
  }
  auto review = json::read_fields(*root, [](const json::Fields& fields) {
    if (fields.text("apiVersion") != kReviewVersion || fields.text("kind") != kReviewKind) {
      fields.refuse(fmt::format("it is no {} of {}", kReviewKind, kReviewVersion));
    }
    const auto request = fields.need_object("request");
    Review read{.uid = request.need<std::string>("uid"),
                .ns = request.text("namespace"),
                .operation = request.need<std::string>("operation"),
                .subresource = request.text("subResource"),
                .is_dry_run = request.boolean("dryRun"),
                .object = request.view().find("object").value_or(json::View()),
                .before = request.view().find("oldObject")};
    if (read.uid.empty() || read.uid.size() > kLongestUid) request.refuse("uid", "is no uid");
    return read;
  });
  if (!review) return std::unexpected(std::move(review).error().with_context(kReviewKind));
  if (!is_object(review->before)) review->before.reset();
  return review;
}

bool is_of_interest(const Review& review) {
  const bool writes = review.operation == "CREATE" || review.operation == "UPDATE";
  if (!writes || !review.subresource.empty() || review.object.kind() != json::Kind::kObject) {
    return false;
  }
  const bool keeps_spec =
      review.before && is_pod(review.object) && spec_of(review.object) == spec_of(*review.before);
  return !keeps_spec;
}

Result<Rewritten> judge(const Review& review, const Fleet& fleet, const ClaimOptions& options) {
  if (!is_of_interest(review)) return Rewritten{.patch = "[]"};
  auto result = rewrite(review.object, fleet, {.claim = options, .before = review.before});
  if (!result && result.error().code == Code::kUnsupported) return Rewritten{.patch = "[]"};
  return result;
}

std::string allowed(std::string_view uid, const Rewritten& rewritten) {
  json::Value response = json::Value::object();
  response["uid"] = uid;
  response["allowed"] = true;
  if (rewritten.patch != "[]") {
    response["patchType"] = "JSONPatch";
    response["patch"] = encode_base64(rewritten.patch);
  }
  if (!rewritten.warnings.empty()) response["warnings"] = warnings_for_users(rewritten.warnings);
  return answer(std::move(response)).text();
}

std::string refused(std::string_view uid, const Error& why) {
  const auto [code, reason] = status_of(why.code);
  json::Value status = json::Value::object();
  status["code"] = code;
  status["reason"] = reason;
  status["message"] = why.message();
  json::Value response = json::Value::object();
  response["uid"] = uid;
  response["allowed"] = false;
  response["status"] = std::move(status);
  return answer(std::move(response)).text();
}

}  // namespace tranche::admission
