#pragma once
// Converts between offer/ values and device plugin v1beta1 messages. Internal to this room
// (includes generated code).

#include "kubelet/proto/deviceplugin.pb.h"
#include "offer/grant.h"
#include "offer/offer.h"
#include "offer/preferred.h"

namespace tranche::deviceplugin {

v1beta1::ListAndWatchResponse to_wire(const offer::ResourceOffer& offer);
void to_wire(const offer::Grant& grant, v1beta1::ContainerAllocateResponse& answer);
offer::PreferredRequest from_wire(const v1beta1::ContainerPreferredAllocationRequest& request);

}  // namespace tranche::deviceplugin
