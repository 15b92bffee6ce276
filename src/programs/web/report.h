#pragma once
// The web page as one file that shows a saved fleet: no server, no request, script and style
// inside.

#include <string>

#include "fleet/fleet.h"

namespace tranche::web {

// Names in `fleet` come from tenants: none can end the element that holds the data.
std::string report_html(const fleet::Fleet& fleet);

}  // namespace tranche::web
