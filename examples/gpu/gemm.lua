-- Each work-item computes 8 x 8 elements of c in registers: parts as wide as a vector, a whole row of
-- work-items apart, so that neighbours read neighbouring memory. Tiles of a and b, some steps of k deep,
-- go through local memory. Whole blocks need no guards, and rows that begin at multiples of 16 bytes
-- are read and written in vectors.
local function tile(knl, options)
  local items, vector, steps = options.items, options.vector, options.steps
  local block = {i = 8*items.i, j = 8*items.j}
  local group = items.i*items.j
  knl = lp.assume(knl, "n mod 128 = 0 and n >= 128")
  for _, tags in ipairs{{"g.1", "l.1", "ilp", axis = "i"}, {"g.0", "l.0", "vec", axis = "j"}} do
    local axis = tags.axis
    local part, rest, item, reg = axis .. "_part", axis .. "_rest", axis .. "_item", axis .. "_reg"
    knl = lp.split_iname(knl, axis, block[axis], {outer_tag = tags[1]})
    knl = lp.split_iname(knl, axis .. "_inner", items[axis]*vector, {outer_iname = part, inner_iname = rest, outer_tag = "ilp"})
    knl = lp.split_iname(knl, rest, vector, {outer_iname = item, inner_iname = reg, outer_tag = tags[2], inner_tag = tags[3]})
  end
  knl = lp.split_iname(knl, "k", steps, {inner_tag = "unr"})

  -- The tiles; that of a lies transposed, with gaps against bank conflicts.
  knl = lp.add_prefetch(knl, "a", "i_part, i_item, i_reg, k_inner", {dim_arg_names = {"ai", "ak"}, default_tag = "for"})
  knl = lp.add_prefetch(knl, "b", "j_part, j_item, j_reg, k_inner", {dim_arg_names = {"bk", "bj"}, default_tag = "for"})
  knl = lp.tag_array_axes(knl, "a_fetch", ("N0(pad=%d), N1"):format(block.i + 4))

  -- The group's work-items fetch a tile in vectors; `row` and `column` run over it.
  local function share(row, column, width)
    local step, line, quad, item = row .. "_step", row .. "_line", column .. "_quad", row .. "_item"
    knl = lp.split_iname(knl, column, vector, {outer_iname = quad, inner_iname = column .. "_vec", inner_tag = "vec"})
    knl = lp.split_iname(knl, row, group // (width // vector), {outer_iname = step, inner_iname = line, outer_tag = "unr"})
    knl = lp.join_inames(knl, {line, quad}, item)
    knl = lp.split_iname(knl, item, items.j, {outer_tag = "l.1", inner_tag = "l.0"})
  end
  share("ai", "ak", steps)
  share("bk", "bj", block.j)

  -- What a work-item needs of a tile's row goes through registers.
  local function keep(fetch, before, after, axis)
    local rule, p, r = axis .. "_now", axis .. "p", axis .. "r"
    local at = ("%d*p + r + %d*%s_item"):format(items[axis]*vector, vector, axis)
    knl = lp.extract_subst(knl, rule, fetch .. "[" .. before .. at .. after .. "]", {parameters = "p, r"})
    knl = lp.precompute(knl, rule, {axis .. "_part", axis .. "_reg"},
      {precompute_inames = {p, r}, default_tag = "for", temporary_address_space = "private"})
    knl = lp.tag_inames(knl, {[p] = "unr", [r] = "vec"})
  end
  keep("a_fetch", "", ", k_inner", "i")
  keep("b_fetch", "k_inner, ", "", "j")
  return knl
end

-- Doubles go through matrix units, where there are some: a warp is 4 work-items along columns by 8 along
-- rows, each with elements of two rows, 8 apart, and of two neighbouring columns. It adds four steps of
-- k at once to 16 by 64 elements.
local function tile_units(knl, options)
  local warps, columns, steps = options.warps, options.columns, options.steps
  knl = lp.assume(knl, "n mod 64 = 0 and n >= 64")
  knl = lp.split_iname(knl, "i", 16*warps, {outer_tag = "g.1"})
  knl = lp.split_iname(knl, "i_inner", 16, {outer_iname = "warp", inner_iname = "i_rows", outer_tag = "l.2"})
  knl = lp.split_iname(knl, "i_rows", 8, {outer_iname = "i_half", inner_iname = "i_row", outer_tag = "ilp", inner_tag = "l.1"})
  knl = lp.split_iname(knl, "j", columns, {outer_tag = "g.0"})
  knl = lp.split_iname(knl, "j_inner", 8, {outer_iname = "j_part", inner_iname = "j_columns", outer_tag = "ilp"})
  knl = lp.split_iname(knl, "j_columns", 2, {outer_iname = "j_column", inner_iname = "j_pair", outer_tag = "l.0", inner_tag = "vec"})
  knl = lp.split_iname(knl, "k", steps)
  knl = lp.split_iname(knl, "k_inner", 4, {outer_iname = "k_step", inner_iname = "k_unit", outer_tag = "unr", inner_tag = "mma"})

  knl = lp.add_prefetch(knl, "a", "warp, i_half, i_row, k_step, k_unit", {dim_arg_names = {"ai", "ak"}, default_tag = "for"})
  knl = lp.add_prefetch(knl, "b", "j_part, j_column, j_pair, k_step, k_unit", {dim_arg_names = {"bk", "bj"}, default_tag = "for"})
  knl = lp.tag_array_axes(knl, "a_fetch", ("N1, N0(pad=%d)"):format(steps + 4))
  knl = lp.tag_array_axes(knl, "b_fetch", ("N1, N0(pad=%d)"):format(columns + 4))
  for _, fetch in ipairs{{row = "ai", column = "ak", width = steps}, {row = "bk", column = "bj", width = columns}} do
    local row = fetch.row
    local step, line, quad, item = row .. "_step", row .. "_line", row .. "_quad", row .. "_item"
    knl = lp.split_iname(knl, fetch.column, 2, {outer_iname = quad, inner_tag = "vec"})
    knl = lp.split_iname(knl, row, 32*warps // (fetch.width // 2), {outer_iname = step, inner_iname = line, outer_tag = "unr"})
    knl = lp.join_inames(knl, {line, quad}, item)
    knl = lp.split_iname(knl, item, 32, {outer_tag = "l.2"})
    knl = lp.split_iname(knl, item .. "_inner", 4, {outer_tag = "l.1", inner_tag = "l.0"})
  end
  return knl
end

sgemm = tile(sgemm, {vector = 4, steps = 16, items = {i = 16, j = 8}})
dgemm = tile_units(dgemm, {warps = 4, columns = 64, steps = 16})
