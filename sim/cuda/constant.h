#pragma once
// TRANCHE_SIM_CUDA=constant: the functions of a program's inner loop (launch, allocate, free, copy,
// query) do almost nothing, take no lock and ignore their arguments, so that the overhead between a
// program and the driver can be measured. Their addresses have no memory. Everything else works as
// usual. Read by cuInit.

namespace tranche::sim::cuda {

namespace detail {
inline bool constant = false;  // written once, before cuInit returns
}

inline bool is_constant() { return __builtin_expect(detail::constant ? 1 : 0, 0) != 0; }

// Consecutive addresses that were never returned before.
unsigned long long constant_address(unsigned long long size);

}  // namespace tranche::sim::cuda
