-- One group walks over parts of 128 elements, whose beginnings its work-items sum in seven steps.
scan = lp.split_iname(scan, "i", 128, {inner_tag = "l.0"})
scan = lp.realize_reduction(scan, {force_scan = true})
