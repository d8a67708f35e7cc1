argmin = lp.split_iname(argmin, "i", 64)
