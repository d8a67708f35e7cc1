-- 32x32 tiles of c, one per work-group; tiles of a and b are staged in local memory.
matmul = lp.split_iname(matmul, "i", 32, {outer_tag = "g.1", inner_tag = "l.1"})
matmul = lp.split_iname(matmul, "j", 32, {outer_tag = "g.0", inner_tag = "l.0"})
matmul = lp.split_iname(matmul, "k", 32)
matmul = lp.assume(matmul, "n mod 32 = 0")

matmul = lp.add_prefetch(matmul, "a", "k_inner, i_inner", {default_tag = "l.auto"})
matmul = lp.add_prefetch(matmul, "b", "j_inner, k_inner", {default_tag = "l.auto"})
