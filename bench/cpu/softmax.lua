-- exponentials once, kept for a row
softmax = lp.split_iname(softmax, "r", 8, {outer_tag = "par"})
softmax = lp.extract_subst(softmax, "power", "exp(x[r, a] - most)", {parameters = "a, r"})
softmax = lp.precompute(softmax, "power", "k, l", {storage_axes = "a", precompute_inames = "p", temporary_name = "powers"})
softmax = lp.tag_inames(softmax, {j = "simd", k = "simd", l = "simd", p = "simd"})
