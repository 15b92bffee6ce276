// Arbitrary bytes as an AdmissionReview. Whatever is read gets an answer that is JSON, of the same
// uid, with a patch that applies, or a refusal that says why.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "admission/review.h"
#include "base/base64.h"

namespace {

using namespace tranche;

void require(bool holds) {
  if (!holds) std::abort();
}

const admission::Fleet& fleet() {
  static const admission::Fleet kFleet{.dra_models = {{"NVIDIA L20", Bytes::from_mib(46068)}},
                                       .replicas = {}};
  return kFleet;
}

void check_patch(const nlohmann::json& response, json::View object) {
  if (!response.contains("patch")) return;
  const auto patch = decode_base64(response["patch"].get<std::string>());
  require(patch.has_value());
  const auto parsed = nlohmann::json::parse(object.text(), nullptr, false);
  if (!parsed.is_discarded()) (void)parsed.patch(nlohmann::json::parse(*patch));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  require(decode_base64(encode_base64(text)) == text);
  const auto review = admission::read_review(text);
  if (!review) {
    require(!review.error().what.empty());
    return 0;
  }
  const auto result = admission::judge(*review, fleet(), {});
  const auto answer = result ? admission::allowed(review->uid, *result)
                             : admission::refused(review->uid, result.error());
  const auto response = nlohmann::json::parse(answer)["response"];
  require(response["allowed"] == result.has_value());
  if (result) {
    check_patch(response, review->object);
  } else {
    require(!response["status"]["message"].get<std::string>().empty());
  }
  return 0;
}
