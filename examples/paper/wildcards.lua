-- All calls inside h$one, at any depth; then every call of f from the instruction `product`.
targeting = lp.expand_subst(targeting, "g* < ... < h$one < product")
targeting = lp.expand_subst(targeting, "f < ...")
