#pragma once
// The two text formats in which a page can be served, and which of them a client asks for (RFC
// 9110, section 12.5.1). Values; nothing here fails: what cannot be read counts as not asked for.

#include <string_view>

namespace tranche::metrics {

enum class Format {
  kPrometheusText,  // version 0.0.4
  kOpenMetrics,     // version 1.0.0
};

// For the header Content-Type.
std::string_view content_type(Format format);

// The format for a request whose header Accept is `accept`; empty: it has none. OpenMetrics is
// written only for clients that name it, and like it no less than Prometheus' text. All others get
// Prometheus' text, also those that accept neither: a page that can be read beats an error.
Format negotiate(std::string_view accept);

}  // namespace tranche::metrics
