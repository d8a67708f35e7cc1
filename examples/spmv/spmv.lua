-- One work-item per row.
spmv = lp.split_iname(spmv, "row", 128, {outer_tag = "g.0", inner_tag = "l.0"})
