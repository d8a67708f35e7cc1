double = lp.split_iname(double, "i", 128, {outer_tag = "g.0", inner_tag = "l.0"})
