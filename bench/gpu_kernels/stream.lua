-- One element for each work-item.
local function spread(knl)
  return lp.split_iname(knl, "i", 256, {outer_tag = "g.0", inner_tag = "l.0"})
end
copy, mul, add, triad, nstream = spread(copy), spread(mul), spread(add), spread(triad), spread(nstream)
