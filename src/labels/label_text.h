#pragma once
// What may stand in a label: NVIDIA's sanitising of hardware names, and Kubernetes' rule for
// values.

#include <string>
#include <string_view>

namespace tranche::labels {

// A hardware name as NVIDIA writes it into labels: every character outside [A-Za-z0-9-_. ] deleted,
// words joined by '-'. " Foo (R)  Bar/Baz_1" -> "Foo-R-BarBaz_1". The length stays as it is.
std::string sanitise(std::string_view text);

// Whether Kubernetes accepts `value`: at most 63 of [A-Za-z0-9-_.], first and last a letter or
// digit; empty is fine.
// https://kubernetes.io/docs/concepts/overview/working-with-objects/labels
bool is_label_value(std::string_view value);

}  // namespace tranche::labels
