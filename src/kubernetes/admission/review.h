#pragma once
// The API server's question to an admission webhook and the answer to it: AdmissionReview
// (admission.k8s.io/v1) as JSON. Pure. The body may come from anybody who reaches the webhook's
// port, so nothing in it is believed beyond its form.

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

// The API server takes requests of 3 MiB, and sends an object twice where it is updated.
inline constexpr std::size_t kLongestReview = std::size_t{7} << 20U;

// Refers to the text that it was read from.
struct Review {
  std::string uid;  // of this question; the answer repeats it
  std::string ns;
  std::string operation;    // "CREATE", "UPDATE", ...
  std::string subresource;  // empty: the object itself
  bool is_dry_run = false;
  json::View object;                 // null where the operation has none
  std::optional<json::View> before;  // of an update
};

// kInvalidArgument: it is no AdmissionReview v1 with a request, or longer than kLongestReview.
Result<Review> read_review(std::string_view body);

// Whether the request can ask for a share at all. It cannot where an object is deleted or only read
// or written in part (a subresource), nor where a Pod keeps its spec: labels, annotations and
// finalizers of a running Pod are no business of ours, whatever the fleet is now.
bool is_of_interest(const Review& review);

// What rewrite() makes of the object. An object that is left alone, or of another kind than
// rewrite() knows, gets the patch "[]". Errors: those of rewrite().
Result<Rewritten> judge(const Review& review, const Fleet& fleet, const ClaimOptions& options);

// The answers, as JSON text.
//
// kubectl shows warnings to its user. The API server drops what is beyond 4096 bytes in all, so at
// most 8 are sent, none longer than 256 bytes.
std::string allowed(std::string_view uid, const Rewritten& rewritten);
// The user is shown `why`. Its code becomes the status: 422 what is written wrong, 403 what this
// cluster does not give, 503 what may work later, 500 else.
std::string refused(std::string_view uid, const Error& why);

}  // namespace tranche::admission
