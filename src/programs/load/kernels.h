#pragma once
// The kernels as PTX text, which the driver compiles for every GPU from Volta on. The simulated
// driver does not execute them: a comment in the PTX tells it how long a kernel takes.

namespace tranche::load {

// busy(ns, rounds, sink): does `rounds` rounds of integer work in every thread. The time of a round
// has been measured before. The kernel does not run while another context has the GPU, so it needs
// the same GPU time however the GPU is shared. `ns`: that GPU time; only the simulated driver reads
// it. At the end the kernel writes to the address `sink` unless that is 0.
inline constexpr const char* kBusyKernel = "busy";
// spin(ns): runs until `ns` have passed on the GPU's clock, which goes on while another context has
// the GPU.
inline constexpr const char* kSpinKernel = "spin";

inline constexpr const char* kPtx = R"(
.version 6.3
.target sm_70
.address_size 64

// tranche-sim: duration-ns = param 0
.visible .entry busy(.param .u64 ns, .param .u64 rounds, .param .u64 sink)
{
  .reg .pred %more, %store;
  .reg .b32 %value;
  .reg .b64 %count, %left, %to;
  ld.param.u64 %left, [rounds];
  ld.param.u64 %to, [sink];
  mov.u32 %value, %tid.x;
  mov.u64 %count, 0;
again:
  mad.lo.u32 %value, %value, 1664525, 1013904223;
  mad.lo.u32 %value, %value, 1664525, 1013904223;
  mad.lo.u32 %value, %value, 1664525, 1013904223;
  mad.lo.u32 %value, %value, 1664525, 1013904223;
  add.u64 %count, %count, 1;
  setp.lt.u64 %more, %count, %left;
  @%more bra again;
  setp.ne.u64 %store, %to, 0;
  @%store st.global.u32 [%to], %value;
  ret;
}

// tranche-sim: duration-ns = param 0
.visible .entry spin(.param .u64 ns)
{
  .reg .pred %more;
  .reg .b64 %begin, %now, %wanted;
  ld.param.u64 %wanted, [ns];
  mov.u64 %begin, %globaltimer;
again:
  mov.u64 %now, %globaltimer;
  sub.u64 %now, %now, %begin;
  setp.lt.u64 %more, %now, %wanted;
  @%more bra again;
  ret;
}
)";

}  // namespace tranche::load
