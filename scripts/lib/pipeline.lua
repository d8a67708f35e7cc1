local support = require "moonloop.support"

--- Takes several steps one after the other.
---
--- A step is a function from a kernel to a kernel, the name of a transform, or an array of one of
--- these and what it takes beside the kernel. A pipeline is a step itself: `{lib.pipeline, {...}}`.
---
--- Refuses what one of the steps refuses; then none of them is done.
---
--- @param steps (steps, required): what to do, in this order
--- @return kernel (kernel): what the last step gave
--- @example
---     kernel scale(n: int32, a: float64[n], c: float64[n])
---     domain {[i]: 0 <= i < n}
---     c[i] = 2*a[i]
---
---     local lib = require "moonloop.lib"
---     knl = lib.pipeline(knl, {
---       {"assume", "n mod 64 = 0"},
---       {"split_iname", "i", 64},
---       {lib.vectorize_inner, "i_inner", 8},
---       {lib.attempt, {"tag_inames", "i_outer:par"}},
---     })
local function pipeline(knl, steps)
  support.kernel("pipeline", knl)
  for _, step in ipairs(support.steps("pipeline", 2, steps)) do knl = step(knl) end
  return knl
end

return pipeline
