#pragma once
// The fleet in words, for people. Pure. Names come from tenants: what is not printable is replaced.

#include <string>

#include "fleet/fleet.h"

namespace tranche::cli {

struct ReportView {
  int near = 90;  // percent of a memory limit
};

std::string report_text(const fleet::Fleet& fleet, const ReportView& view);

}  // namespace tranche::cli
