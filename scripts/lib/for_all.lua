local lp = require "moonloop"
local support = require "moonloop.support"

--- Takes a step for each instruction that a match selects, in the order in which they stand.
---
--- The step gets the kernel and the instruction's id, and then what stands with it: `{f, a}` is
--- called as `f(knl, id, a)`. The match is looked up once; an instruction that a step takes away is
--- passed over.
---
--- Refuses what one of the steps refuses; then none of them is done.
---
--- @param match (match, required): the instructions, such as "writes:a and not tag:input"
--- @param step (step, required): what to do with the kernel and an instruction's id
--- @return kernel (kernel): what the last step gave, or the kernel as it was where nothing matches
--- @example
---     kernel two(n: int32, a: float64[n], b: float64[n], c: float64[n])
---     domain {[i]: 0 <= i < n}
---     b[i] = 2*a[i]   {id=first}
---     c[i] = 3*a[i]   {id=second}
---
---     local lib = require "moonloop.lib"
---     knl = lib.for_all(knl, "reads:a", function(knl, id)
---       return lp.duplicate_inames(knl, "i", id, {suffix = "_" .. id})
---     end)
---     assert(#knl.inames == 2)
local function for_all(knl, match, step)
  support.kernel("for_all", knl)
  support.string("for_all", 2, match)
  step = support.step("for_all", 3, step)
  for _, instruction in ipairs(lp.find_instructions(knl, match)) do
    local there = false
    for _, id in ipairs(knl.ids) do there = there or id == instruction.id end
    if there then knl = step(knl, instruction.id) end
  end
  return knl
end

return for_all
