local lp = require "moonloop"
local support = require "moonloop.support"

--- Cuts loops into tiles: each is split, and the loops over tiles stand outside.
---
---     for i: for j: s(i, j)  becomes  for i_outer: for j_outer: for i_inner: for j_inner: s(i, j)
---
--- Any number of loops, and any sizes: those that do not divide a loop leave a smaller tile at its
--- end. A loop of a reduction stands inside of the others, and so do both its parts.
---
--- Refuses a nest in which some dependence would run backwards, loops that have tags, and tags that
--- the dependences do not allow.
---
--- @param sizes (integers by name, required): how long a tile is along each of the loops:
---   {i = 16, j = 16}
--- @option order (names, default the tiles' loops, then those inside): the new nest, outer to
---   inner; other loops may stand among the tiles' ones
--- @option outer_tags (tags by name): tags of the loops over tiles, by the names of the old loops:
---   {i = "par"}
--- @option inner_tags (tags by name): tags of the loops inside a tile, by the names of the old
---   loops
--- @return kernel (kernel): the kernel with tiles
--- @example
---     kernel turn(n: int32, a: float64[n, n], c: float64[n, n])
---     domain {[i, j]: 0 <= i, j < n}
---     c[i, j] = a[j, i]
---
---     local lib = require "moonloop.lib"
---     knl = lib.tile(knl, {i = 16, j = 16}, {outer_tags = {i = "par"}})
local function tile(knl, sizes, options)
  support.kernel("tile", knl)
  local inames = support.sizes("tile", 2, knl, sizes)
  options = support.options("tile", 3, options, "inner_tags, order, outer_tags")
  local order = options.order and support.names("tile", 3, options.order)
  local outer_tags = support.tags("tile", 3, options.outer_tags, sizes)
  local inner_tags = support.tags("tile", 3, options.inner_tags, sizes)

  local reduced = {}
  for _, instruction in ipairs(knl.instructions) do
    for _, iname in ipairs(instruction.reduction_inames) do reduced[iname] = true end
  end
  local outside, inside, outer_reduced, inner_reduced, tags = {}, {}, {}, {}, {}
  for _, iname in ipairs(inames) do
    local outer, inner
    knl, outer, inner = support.split(knl, iname, sizes[iname])
    table.insert(reduced[iname] and outer_reduced or outside, outer)
    table.insert(reduced[iname] and inner_reduced or inside, inner)
    tags[outer], tags[inner] = outer_tags[iname], inner_tags[iname]
  end
  if not order then
    order = outside
    for _, list in ipairs{inside, outer_reduced, inner_reduced} do
      table.move(list, 1, #list, #order + 1, order)
    end
  end
  knl = lp.prioritize_loops(knl, order)
  if next(tags) then knl = lp.tag_inames(knl, tags) end
  return knl
end

return tile
