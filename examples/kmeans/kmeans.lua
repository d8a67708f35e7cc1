-- Each group of work-items adds up in copies in local memory.
centroids = lp.split_iname(centroids, "i", 4096, {outer_tag = "g.0"})
centroids = lp.split_iname(centroids, "i_inner", 128, {outer_iname = "step", inner_tag = "l.0"})
centroids = lp.privatize_updates(centroids, "sums, count", "step, i_inner_inner, k")
