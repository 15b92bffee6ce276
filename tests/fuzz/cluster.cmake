# snapshot/v1 and GPUTier: files, and what an API server answers.
tranche_fuzz(snapshot_fuzz SOURCES ${CMAKE_CURRENT_LIST_DIR}/snapshot_fuzz.cpp
             LINK tranche_cluster_snapshot nlohmann_json::nlohmann_json)
