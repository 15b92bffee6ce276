#pragma once
// The text of labels: NVIDIA's sanitising of hardware names, and Kubernetes' rule for values.

#include <string>
#include <string_view>

namespace tranche::labels {

// A hardware name as NVIDIA writes it into labels: characters outside [A-Za-z0-9-_. ] are removed
// and words are joined by '-'. The text is not shortened. " Foo (R)  Bar/Baz_1" ->
// "Foo-R-BarBaz_1".
std::string sanitise(std::string_view text);

// Whether Kubernetes accepts `value`: at most 63 characters of [A-Za-z0-9-_.], the first and the
// last a letter or digit. An empty value is accepted.
// https://kubernetes.io/docs/concepts/overview/working-with-objects/labels
bool is_label_value(std::string_view value);

}  // namespace tranche::labels
