layernorm = lp.split_iname(layernorm, "r", 8, {outer_tag = "par"})
layernorm = lp.tag_inames(layernorm, {j = "simd", k = "simd", l = "simd"})
