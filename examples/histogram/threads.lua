-- Each thread counts in bins of its own: its updates take no atomic operation.
histogram = lp.chunk_iname(histogram, "i", 64, {outer_tag = "par"})
histogram = lp.privatize_updates(histogram, "bins", "i_inner")
