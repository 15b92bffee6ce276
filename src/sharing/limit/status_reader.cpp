#include "limit/status_reader.h"

namespace tranche::limit {

Result<bool> StatusReader::refresh() {
  const auto identity = identify(file_);
  if (identity == identity_) return false;
  const auto text = fs_.read(file_, kLongest);
  auto status = text ? decode_status(*text) : std::unexpected(text.error());
  identity_ = identity;
  if (!status) return std::unexpected(std::move(status).error());
  status_ = *std::move(status);
  return true;
}

void StatusReader::forget() {
  status_ = {};
  identity_ = {};
}

}  // namespace tranche::limit
