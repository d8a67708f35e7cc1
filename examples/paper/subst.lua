subst = lp.temporary_to_subst(subst, "a")
