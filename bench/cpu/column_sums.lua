-- threads have columns each, vectors of them side by side
column_sums = lp.split_iname(column_sums, "j", 128, {outer_tag = "par", inner_tag = "vec", slabs = {0, 1}})
