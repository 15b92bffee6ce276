# What others can write of MIG: the journal in an annotation of the Node, the file of mig-parted in
# a ConfigMap, pools of layouts in another, and what a pool wrote on a Node.
tranche_fuzz(mig_journal_fuzz SOURCES ${CMAKE_CURRENT_LIST_DIR}/mig_journal_fuzz.cpp LINK tranche_mig)
tranche_fuzz(mig_parted_fuzz SOURCES ${CMAKE_CURRENT_LIST_DIR}/mig_parted_fuzz.cpp LINK tranche_mig)
tranche_fuzz(mig_pool_fuzz SOURCES ${CMAKE_CURRENT_LIST_DIR}/mig_pool_fuzz.cpp LINK tranche_mig)
