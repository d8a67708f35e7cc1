-- The rows depend on one another; only the dot product may be cut.
trsv = lp.split_iname(trsv, "j", 8)
