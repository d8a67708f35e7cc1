-- Additions of integers commute, and each is atomic.
histogram = lp.split_iname(histogram, "i", 128, {outer_tag = "g.0", inner_tag = "l.0"})
