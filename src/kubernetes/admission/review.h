#pragma once
// The API server's AdmissionReview (admission.k8s.io/v1) and the answer to it, as JSON. Pure. The
// body may come from anybody who reaches the webhook's port, so it is not trusted.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "admission/fleet.h"
#include "admission/rewrite.h"
#include "base/json.h"
#include "base/result.h"

namespace tranche::admission {

// The API server accepts requests of 3 MiB, and sends an object twice for an update.
inline constexpr std::size_t kLongestReview = std::size_t{7} << 20U;

// Refers to the text that it was parsed from.
struct Review {
  std::string uid;  // of this review; the answer repeats it
  std::string ns;
  std::string operation;    // "CREATE", "UPDATE", ...
  std::string subresource;  // empty: the object itself
  bool is_dry_run = false;
  json::View object;                 // null if the operation has none
  std::optional<json::View> before;  // of an update
};

// kInvalidArgument: not an AdmissionReview v1 with a request, or longer than kLongestReview.
Result<Review> read_review(std::string_view body);

// Whether the request can ask for a share. It cannot if the object is deleted, or if it is of a
// subresource, or if a Pod keeps its spec: labels, annotations and finalizers of a running Pod do
// not concern us, whatever the fleet is now.
bool is_of_interest(const Review& review);

// rewrite() of the object. An object that is left alone, or of a kind that rewrite() does not know,
// gets the patch "[]". Errors: those of rewrite().
Result<Rewritten> judge(const Review& review, const Fleet& fleet, const ClaimOptions& options);

// The answers, as JSON.
//
// kubectl shows warnings to its user. The API server drops what exceeds 4096 bytes in total, so at
// most 8 are sent, none longer than 256 bytes.
std::string allowed(std::string_view uid, const Rewritten& rewritten);
// The user sees `why`. Its code becomes the status: 422 for a mistake of the user, 403 for what
// this cluster does not give, 503 for what may work later, 500 else.
std::string refused(std::string_view uid, const Error& why);

}  // namespace tranche::admission
