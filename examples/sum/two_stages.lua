-- Each group sums 4096 neighbouring elements; one group then sums what the groups have.
total = lp.split_iname(total, "i", 4096)
total = lp.split_iname(total, "i_inner", 128, {inner_tag = "l.0"})
total = lp.split_reduction_outward(total, "i_outer")
total = lp.reduction_arg_to_subst_rule(total, "i_outer", {subst_rule_name = "part"})
total = lp.precompute(total, "part", "i_outer", {temporary_address_space = "global", default_tag = "g.0"})
total = lp.split_iname(total, "i_outer", 128, {inner_tag = "l.0"})
