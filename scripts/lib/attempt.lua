local lp = require "moonloop"
local support = require "moonloop.support"

--- Takes a step if it is legal, and goes on with the kernel as it was if it is refused.
---
--- So it fits in a pipeline, other than `lp.attempt`, which gives nil for a refusal. A wrong
--- argument of the step, such as the name of no loop, is an error all the same.
---
--- A step is a function from a kernel to a kernel, the name of a transform, or an array of one of
--- these and what it takes beside the kernel: `{"split_iname", "i", 16}`.
---
--- @param step (step, required): what to do with the kernel
--- @return kernel (kernel): what the step gave, or the kernel as it was
--- @return refusal (error): why the step was refused, if it was
--- @example
---     kernel sweep(n: int32, a: float64[n])
---     domain {[i]: 1 <= i < n}
---     a[i] = a[i] + a[i - 1]
---
---     local lib = require "moonloop.lib"
---     local refusal
---     knl, refusal = lib.attempt(knl, {"tag_inames", "i:par"})
---     assert(refusal.code == "races")
---     knl = lib.attempt(knl, {"split_iname", "i", 16})
local function attempt(knl, step)
  support.kernel("attempt", knl)
  local result, refusal = lp.attempt(support.step("attempt", 2, step), knl)
  return result or knl, refusal
end

return attempt
