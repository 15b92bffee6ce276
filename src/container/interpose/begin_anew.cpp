// Resets each file's state in a forked child. In a file of its own because some of them include
// fork.h.

#include "interpose/arrays.h"
#include "interpose/driver.h"
#include "interpose/fork.h"
#include "interpose/gate.h"
#include "interpose/helper.h"
#include "interpose/launches.h"
#include "interpose/memory.h"
#include "interpose/pools.h"
#include "interpose/tenants.h"
#include "interpose/unreported.h"

namespace tranche::interpose {

void begin_anew() {
  forget_driver();
  forget_gate();
  forget_helper();
  forget_pools();
  forget_memory();
  forget_arrays();
  forget_graphs();
  forget_unreported();
  forget_tenants();
}

}  // namespace tranche::interpose
