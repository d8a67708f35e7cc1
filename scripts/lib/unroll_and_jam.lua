local lp = require "moonloop"
local support = require "moonloop.support"

--- Unrolls an outer loop, with its copies inside of the loops that stand in it.
---
---     for i: for j: s(i, j)    of i, by 2, becomes    for o: for j: s(2*o, j); s(2*o + 1, j)
---
--- So values that neighbouring iterations of the outer loop share are loaded once. The copies run
--- in order where the loops can nest that way, also when they depend on one another; where they
--- cannot, as around a reduction with its one accumulator, each statement runs for all copies
--- (`ilp`).
---
--- Refuses an order in which some dependence would run backwards and, where each statement runs for
--- all copies, copies that depend on one another.
---
--- @param iname (string, required): the loop to unroll
--- @param factor (integer, required): how many copies
--- @return kernel (kernel): the kernel with copies
--- @example
---     kernel smooth(n: int32, a: float64[n, n])
---     domain {[i, j]: 1 <= i, j < n}
---     a[i, j] = a[i - 1, j] + a[i, j - 1]
---
---     local lib = require "moonloop.lib"
---     knl = lib.unroll_and_jam(knl, "i", 2)
local function unroll_and_jam(knl, iname, factor)
  support.kernel("unroll_and_jam", knl)
  support.iname("unroll_and_jam", 2, knl, iname)
  support.integer("unroll_and_jam", 3, factor, 1)

  local around = support.partners(knl, iname)
  local split, _, copies = support.split(knl, iname, factor)
  local function in_order(step)
    for _, loop in ipairs(around) do step = lp.prioritize_loops(step, {loop, copies}) end
    return lp.tag_inames(step, {[copies] = "unr"})
  end
  local result, refusal = lp.attempt(in_order, split)
  if result then return result end
  if refusal.code ~= "cannot-nest" then error(refusal, 0) end
  return lp.tag_inames(split, {[copies] = "ilp"})
end

return unroll_and_jam
