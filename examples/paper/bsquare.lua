bsquare = lp.extract_subst(bsquare, "bsq", "alpha*b[i]**2", {parameters = {"alpha"}})
assert(#bsquare.rules == 1)
