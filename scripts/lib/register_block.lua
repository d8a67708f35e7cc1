local lp = require "moonloop"
local support = require "moonloop.support"

--- Computes blocks of results at once, with the copies of each statement side by side.
---
---     for i: for j: acc = 0; for k: acc += a(i, k)*b(k, j)    with {i = 2, j = 2} becomes
---     for i_outer: for j_outer: four accumulators; for k: four updates from two values of each
---
--- Each loop is split, and the part inside is tagged `ilp`: it stands inside of all loops that its
--- statements share, also those of reductions, whose accumulators become one for each copy. Where a
--- size does not divide a loop, the copies beyond its end run under conditions; with `peel` the
--- blocks without conditions stand apart.
---
--- Refuses loops whose iterations depend on one another, as those of an accumulation that is
--- written out do; `reduction` names the loops that are to be recognized as reductions first.
---
--- @param sizes (integers by name, required): the size of a block along each of the loops: {i = 4,
---   j = 4}
--- @option reduction (names): loops whose accumulations become reductions first, which may then be
---   added in any order
--- @option peel (boolean, default false): generates the last blocks apart, so that the others need
---   no conditions
--- @return kernel (kernel): the kernel with blocks
--- @example
---     kernel product(n: int32, a: float64[n, n], b: float64[n, n], c: float64[n, n])
---     domain {[i, j, k]: 0 <= i, j, k < n}
---     c[i, j] = sum(k, a[i, k]*b[k, j])
---
---     local lib = require "moonloop.lib"
---     knl = lib.register_block(knl, {i = 2, j = 4}, {peel = true})
local function register_block(knl, sizes, options)
  support.kernel("register_block", knl)
  local inames = support.sizes("register_block", 2, knl, sizes)
  options = support.options("register_block", 3, options, "peel, reduction")
  local reduction = support.names("register_block", 3, options.reduction or {})

  for _, iname in ipairs(reduction) do
    support.iname("register_block", 3, knl, iname)
    knl = lp.recognize_reduction(knl, iname)
  end
  for _, iname in ipairs(inames) do
    local slabs = options.peel and {0, 1} or nil
    knl = lp.split_iname(knl, iname, sizes[iname], {inner_tag = "ilp", slabs = slabs})
  end
  return knl
end

return register_block
