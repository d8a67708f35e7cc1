local lp = require "moonloop"
local support = require "moonloop.support"

--- Takes the first of several steps that is legal.
---
--- Each begins with the kernel as it is. A step is a function from a kernel to a kernel, the name
--- of a transform, or an array of one of these and what it takes beside the kernel.
---
--- Refuses when each step is refused, with what the last one was refused for.
---
--- @param steps (steps, required): what to try, in this order
--- @return kernel (kernel): what the step gave
--- @return number (integer): which step it was, counted from 1
--- @example
---     kernel sweep(n: int32, a: float64[n, n])
---     domain {[i, j]: 1 <= i < n and 0 <= j < n}
---     a[i, j] = a[i - 1, j] + 1
---
---     local lib = require "moonloop.lib"
---     local which
---     knl, which = lib.try_each(knl, {{"tag_inames", "i:par"}, {"tag_inames", "j:par"}})
---     assert(which == 2)
local function try_each(knl, steps)
  support.kernel("try_each", knl)
  steps = support.steps("try_each", 2, steps)
  support.check(#steps > 0, "try_each", 2, "no step is given")
  local refusal
  for number, step in ipairs(steps) do
    local result, why = lp.attempt(step, knl)
    if result then return result, number end
    refusal = why
  end
  error(refusal, 0)
end

return try_each
