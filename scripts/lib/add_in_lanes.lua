local lp = require "moonloop"
local support = require "moonloop.support"

-- The inames of `knl` that `before` does not have, in order.
local function new_inames(knl, before)
  local known, out = support.iname_set(before), {}
  for _, iname in ipairs(knl.inames) do
    if not known[iname] then out[#out + 1] = iname end
  end
  return out
end

--- Adds up in the lanes of vectors, each with an accumulator, and then adds these.
---
---     c = sum(j, e)    by 32 becomes    c = sum(lane, sum(step, e))    with j = 32*step + lane
---
--- So as many additions as there are vectors in 32 lanes run at once, where one accumulator makes
--- each wait for the one before: take three to eight registers of lanes. With `length`, how many
--- terms there are, the terms that fill no step are added apart, so that vectors are always
--- complete; any number gives the right sum. All reductions over the loop are changed, also least
--- and greatest values.
---
--- Refuses loops that no reduction is over, loops of statements, and reductions of two values.
---
--- @param iname (string, required): the loop of the sum, from 0 on
--- @param width (integer, required): how many lanes
--- @option length (string): how many terms there are, such as "n"
--- @option tag (string, default "vec"): tag of the lanes
--- @return kernel (kernel): the kernel with sums of lanes
--- @example
---     kernel norm(n: int32, x: in float64[n], r: out float64[1])
---     domain {[j]: 0 <= j < n}
---     r[0] = sum(j, x[j]*x[j])
---
---     local lib = require "moonloop.lib"
---     knl = lib.add_in_lanes(knl, "j", 32, {length = "n"})
local function add_in_lanes(knl, iname, width, options)
  support.kernel("add_in_lanes", knl)
  support.iname("add_in_lanes", 2, knl, iname)
  support.integer("add_in_lanes", 3, width, 2)
  options = support.options("add_in_lanes", 4, options, "length, tag")
  if options.length then support.string("add_in_lanes", 4, options.length) end
  local sums = false
  for _, insn in ipairs(knl.instructions) do
    for _, each in ipairs(insn.reduction_inames) do sums = sums or each == iname end
  end
  support.check(sums, "add_in_lanes", 2, "'%s' is the loop of no sum", iname)

  knl = lp.attempt(lp.split_reduction_inward, knl, iname) or knl  -- where it sums over others too
  local main = iname
  if options.length then
    local rest = support.fresh(knl, iname .. "_rest")
    local cut = lp.split_reduction_at(knl, iname, ("(%s) - (%s) %% %d"):format(
      options.length, options.length, width), {from_iname = rest})
    for _, each in ipairs(new_inames(cut, knl)) do
      if each ~= rest then main = each end
    end
    knl = lp.tag_inames(cut, {[rest] = "simd"})
  end
  local split, steps = support.split(knl, main, width, {inner_tag = options.tag or "vec"})
  return lp.split_reduction_inward(split, steps)
end

return add_in_lanes
