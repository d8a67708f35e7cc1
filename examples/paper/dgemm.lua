-- The increments of each c[i, j] may come in any order.
dgemm = lp.recognize_reduction(dgemm, "k")

dgemm = lp.split_iname(dgemm, "i", 16, {outer_tag = "g.0", inner_tag = "l.1"})
dgemm = lp.split_iname(dgemm, "j", 8, {outer_tag = "g.1", inner_tag = "l.0"})
dgemm = lp.split_iname(dgemm, "k", 32)

dgemm = lp.extract_subst(dgemm, "a_acc", "a[i1,i2]", {parameters = "i1, i2"})
dgemm = lp.extract_subst(dgemm, "b_acc", "b[i1,i2]", {parameters = "i1, i2"})
dgemm = lp.precompute(dgemm, "a_acc", "k_inner,i_inner", {default_tag = "l.auto"})
dgemm = lp.precompute(dgemm, "b_acc", "j_inner,k_inner", {default_tag = "l.auto"})
