# What anybody sends to the admission webhook: Pods and workloads, with annotations of ours in them.
tranche_fuzz(admission_fuzz SOURCES ${CMAKE_CURRENT_LIST_DIR}/admission_fuzz.cpp
             LINK tranche_admission nlohmann_json::nlohmann_json)
# What whoever reaches the webhook's port sends to it.
tranche_fuzz(review_fuzz SOURCES ${CMAKE_CURRENT_LIST_DIR}/review_fuzz.cpp
             LINK tranche_admission nlohmann_json::nlohmann_json)
