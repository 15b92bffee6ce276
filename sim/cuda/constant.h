#pragma once
// TRANCHE_SIM_CUDA=constant: the functions of a program's inner loop (launch, allocate, free, copy,
// query) do next to nothing, take no lock and look at no argument, so that what stands between a
// program and the driver can be timed against them. Addresses from them have no memory. Everything
// else works as ever. Read by cuInit.

namespace tranche::sim::cuda {

namespace detail {
inline bool constant = false;  // written once, before cuInit returns
}

inline bool is_constant() { return __builtin_expect(detail::constant ? 1 : 0, 0) != 0; }

// Addresses that were never given before, one after the other.
unsigned long long constant_address(unsigned long long size);

}  // namespace tranche::sim::cuda
