# Manifests of anybody.
tranche_fuzz(lint_fuzz SOURCES ${CMAKE_CURRENT_LIST_DIR}/lint_fuzz.cpp LINK tranche_explain_lint)
