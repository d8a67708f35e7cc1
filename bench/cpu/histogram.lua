-- each thread counts half a million elements in bins of its own
histogram = lp.split_iname(histogram, "i", 524288, {outer_tag = "par"})
histogram = lp.privatize_updates(histogram, "y", "i_inner")
