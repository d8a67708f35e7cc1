-- Only the call of g tagged `three` inside the call of h tagged `two`: h gets a second version.
targeting = lp.expand_subst(targeting, "g$three < h$two")
