# What anybody sends to the admission webhook: Pods and workloads, with annotations of ours in them.
tranche_fuzz(admission_fuzz SOURCES ${CMAKE_CURRENT_LIST_DIR}/admission_fuzz.cpp
             LINK tranche_admission nlohmann_json::nlohmann_json)
