-- Matrix units multiply halves: a warp adds 16 steps of k at once to tiles of 16 x 8 elements, of which
-- it has 4 x 8. Four warps have a block of 128 x 128 elements. They copy parts of a and b, 16 bytes
-- each, into local memory two blocks of k ahead; from there a warp loads what its tiles need.
local block, steps, stages = 128, 32, 3
local knl = lp.assume(hgemm, ("n mod %d = 0 and n >= %d"):format(block, block))
for _, axis in ipairs{{"i", "g.1", 64, 16, 8, "l.1"}, {"j", "g.0", 64, 8, 2, "vec"}} do
  local name, group, warp, tile, part, tag = table.unpack(axis)
  knl = lp.split_iname(knl, name, block, {outer_tag = group})
  knl = lp.split_iname(knl, name .. "_inner", warp, {outer_iname = name .. "_warp", inner_iname = name .. "_own"})
  knl = lp.split_iname(knl, name .. "_own", tile, {outer_iname = name .. "_tile", inner_iname = name .. "_in", outer_tag = "ilp"})
  knl = lp.split_iname(knl, name .. "_in", part, {outer_iname = name .. "_part", inner_iname = name .. "_item", inner_tag = tag})
end
knl = lp.join_inames(knl, {"i_warp", "j_warp"}, "warp")
knl = lp.tag_inames(knl, {warp = "l.2", i_part = "ilp", j_part = "l.0"})
knl = lp.split_iname(knl, "k", steps)
knl = lp.split_iname(knl, "k_inner", 16, {outer_iname = "k_step", inner_iname = "k_unit", outer_tag = "unr", inner_tag = "mma"})

knl = lp.add_prefetch(knl, "a", "warp, i_tile, i_part, i_item, k_step, k_unit", {dim_arg_names = {"ai", "ak"}, default_tag = "for"})
knl = lp.add_prefetch(knl, "b", "warp, j_tile, j_part, j_item, k_step, k_unit", {dim_arg_names = {"bk", "bj"}, default_tag = "for"})
for _, fetch in ipairs{{"ai", "ak"}, {"bk", "bj"}} do
  local row, column = table.unpack(fetch)
  knl = lp.split_iname(knl, column, 8, {outer_iname = column .. "_quad", inner_tag = "vec"})
  knl = lp.join_inames(knl, {row, column .. "_quad"}, row .. "_item")
  knl = lp.split_iname(knl, row .. "_item", 128, {outer_tag = "unr"})
  knl = lp.split_iname(knl, row .. "_item_inner", 32, {outer_tag = "l.2", inner_iname = row .. "_lane"})
  knl = lp.split_iname(knl, row .. "_lane", 4, {outer_tag = "l.1", inner_tag = "l.0"})
end
knl = lp.realize_reduction(knl)
knl = lp.pipeline(knl, "k_outer", {stages = stages})
knl = lp.tag_array_axes(knl, "a_fetch", ("N1, N0(pad=%d), N2"):format(steps + 8))
knl = lp.tag_array_axes(knl, "b_fetch", ("N1, N0(pad=%d), N2"):format(block + 8))
hgemm = knl
