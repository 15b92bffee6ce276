#pragma once
// The driver lookups that libcudart makes when it starts (tests/data/cudart-lookups.txt), made by a
// program of their own.

namespace tranche::test {

// One line for each: what was asked, the error, the status word, and the symbol that the answer is.
int print_lookups();

}  // namespace tranche::test
