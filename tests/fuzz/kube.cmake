# What an API server, or whatever answers in its place, may send; and kubeconfig files.
tranche_fuzz(objects_fuzz SOURCES ${CMAKE_CURRENT_LIST_DIR}/objects_fuzz.cpp
             LINK tranche_kube tranche_cluster_formats nlohmann_json::nlohmann_json)
tranche_fuzz(kubeconfig_fuzz SOURCES ${CMAKE_CURRENT_LIST_DIR}/kubeconfig_fuzz.cpp
             LINK tranche_kube)
