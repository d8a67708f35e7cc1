scan = lp.split_iname(scan, "i", 32, {outer_tag = "g.0", inner_tag = "l.0"})
