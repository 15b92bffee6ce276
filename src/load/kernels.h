#pragma once
// The kernels, as PTX text that the driver compiles: for every GPU from Volta on, and for the
// simulated driver, which reads in a comment how long a kernel takes and does not execute it.

namespace tranche::load {

// busy(ns, rounds, sink): does `rounds` rounds of integer work in every thread; what one round
// takes has been measured before. When another context has the GPU it stands still, so it needs the
// same GPU time whoever shares the GPU. `ns` is what that should be: only the simulated driver
// looks at it. A `sink` that is not 0 is written to at the end.
inline constexpr const char* kBusyKernel = "busy";
// spin(ns): until the GPU's clock has gone on by `ns`, even while another context has the GPU.
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
