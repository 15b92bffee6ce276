# What whoever reaches the port of the metrics sends, and what others name things by in labels.
tranche_fuzz(metrics_fuzz SOURCES ${CMAKE_CURRENT_LIST_DIR}/metrics_fuzz.cpp LINK tranche_metrics)
