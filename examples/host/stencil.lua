-- One script for all targets.
smooth = lp.split_iname(smooth, "i", 8, {outer_tag = "g.1", inner_tag = "l.1"})
smooth = lp.split_iname(smooth, "j", 32, {outer_tag = "g.0", inner_tag = "l.0"})
