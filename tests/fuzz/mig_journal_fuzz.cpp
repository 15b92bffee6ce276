// Arbitrary text as a journal/v1, and as the content of one with a valid checksum. What is accepted
// must be the same after writing and reading again; a refusal must have a reason.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/canonical_json.h"
#include "base/envelope.h"
#include "mig/journal.h"

namespace {

using namespace tranche;

void require(bool holds) {
  if (!holds) std::abort();
}

void check(std::string_view text) {
  const auto journal = mig::decode_journal(text);
  if (!journal) {
    require(journal.error().code == Code::kInvalidArgument && !journal.error().what.empty());
    return;
  }
  const auto written = mig::encode(*journal);
  const auto again = mig::decode_journal(written);
  require(again && mig::encode(*again) == written);
  require(again->from == journal->from && again->to == journal->to);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check(text);
  // No mutation hits a checksum.
  if (const auto content = json::parse(text)) {
    if (const auto canonical = json::canonical_text(*content)) {
      check(seal({.version = "journal/v1", .key = "journal"}, *canonical));
    }
  }
  return 0;
}
