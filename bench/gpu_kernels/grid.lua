-- A tile goes through local memory, so that both arrays are walked along their rows.
transpose = lp.split_iname(transpose, "i", 32, {outer_tag = "g.1", inner_tag = "l.1"})
transpose = lp.split_iname(transpose, "j", 32, {outer_tag = "g.0", inner_tag = "l.0"})
transpose = lp.add_prefetch(transpose, "a", "i_inner, j_inner")
five_point = lp.split_iname(five_point, "j", 128, {outer_tag = "g.0", inner_tag = "l.0"})
five_point = lp.split_iname(five_point, "i", 4, {outer_tag = "g.1", inner_tag = "l.1"})
