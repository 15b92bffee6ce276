# What kubelet may send a device plugin.
tranche_fuzz(requests_fuzz SOURCES ${CMAKE_CURRENT_LIST_DIR}/requests_fuzz.cpp
             LINK tranche_deviceplugin tranche_kubelet_proto tranche_grpc)
