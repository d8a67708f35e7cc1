-- Four elements for each work-item, a group's width apart: their loads are on the way together.
local function spread(knl)
  knl = lp.split_iname(knl, "i", 1024, {outer_tag = "g.0", slabs = {0, 1}})
  return lp.split_iname(knl, "i_inner", 256, {outer_tag = "unr", inner_tag = "l.0"})
end
copy, mul, add, triad, nstream = spread(copy), spread(mul), spread(add), spread(triad), spread(nstream)
