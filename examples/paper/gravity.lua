gravity = lp.split_iname(gravity, "i", 64, {outer_tag = "g.0", inner_tag = "l.0"})
