-- Each group of work-items counts in a copy of the bins in local memory, and adds it up at its end.
histogram = lp.split_iname(histogram, "i", 16384, {outer_tag = "g.0"})
histogram = lp.split_iname(histogram, "i_inner", 256, {outer_iname = "step", inner_tag = "l.0"})
histogram = lp.privatize_updates(histogram, "bins", "step, i_inner_inner")
