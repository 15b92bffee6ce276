// Arbitrary text as the arbiter's status.json, and as the content of one with a valid checksum.
// What is read must be the same after writing and reading again.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/canonical_json.h"
#include "base/envelope.h"
#include "base/fs.h"
#include "limit/arbiter_status.h"
#include "limit/status_reader.h"
#include "support/temp_dir.h"

namespace {

using namespace tranche;

constexpr EnvelopeKind kStatus{.version = "arbiter-status/v1", .key = "status"};

void require(bool holds) {
  if (!holds) std::abort();
}

// A start time without a process is left out when it is written, and times are written in
// microseconds, so the second writing is compared.
void check_written(const limit::ArbiterStatus& status) {
  const auto written = limit::encode(status, {});
  const auto again = limit::decode_status(written);
  require(again && limit::encode(*again, {}) == written);
  require(again->tenants.size() == status.tenants.size());
  require(again->findings.size() == status.findings.size());
}

void check_text(std::string_view text) {
  const auto status = limit::decode_status(text);
  if (status) {
    check_written(*status);
  } else {
    require(status.error().code == Code::kInvalidArgument && !status.error().what.empty());
  }
}

// The agent's reader gives the same result for a file, and keeps its last status if it cannot read
// it.
void check_file(std::string_view text) {
  static const test::TempDir dir;
  const FsRoot fs;
  limit::StatusReader reader(dir.path());
  require(fs.write_atomic(reader.file(), text).has_value());
  const auto status = limit::decode_status(text);
  const auto read = reader.refresh();
  require(read.has_value() == status.has_value());
  if (read) require(*read && reader.status() == *status);
  if (!read) require(reader.status() == limit::ArbiterStatus());
  require(reader.refresh() == false);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check_text(text);
  check_file(text);
  const auto view = json::parse(text);
  if (!view) return 0;
  // No mutation hits a checksum: it is put around the content.
  if (const auto content = json::canonical_text(*view)) check_text(seal(kStatus, *content));
  return 0;
}
