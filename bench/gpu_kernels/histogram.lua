local bins, items = lp.args.bins, lp.args.items or 256
histogram = lp.fix_parameters(histogram, {bins = bins})
histogram = lp.split_iname(histogram, "k", items, {outer_tag = "g.0", inner_tag = "l.0"})
histogram = lp.split_iname(histogram, "i", lp.args.share or 65536,
                           {outer_tag = "g.0", slabs = {0, 1}})
histogram = lp.split_iname(histogram, "i_inner", items, {outer_iname = "step", inner_tag = "l.0"})
if bins <= 8192 then
  histogram = lp.privatize_updates(histogram, "y", "step, i_inner_inner")
else  -- no room in local memory: equal neighbours are counted before
  histogram = lp.privatize_updates(histogram, "y", "step", {holds = "last"})
  histogram = lp.combine_updates(histogram, "y")
end
histogram = lp.split_iname(histogram, "step", 8, {inner_tag = "unr"})
histogram = lp.add_prefetch(histogram, "x", "step_inner",  -- all in flight before the first update
                            {temporary_address_space = "private", default_tag = "unr"})
