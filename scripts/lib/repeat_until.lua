local lp = require "moonloop"
local support = require "moonloop.support"

--- Takes a step again and again, until a condition holds of the kernel.
---
--- Without a condition it goes on until the step is refused or changes nothing. A step is a
--- function from a kernel to a kernel, the name of a transform, or an array of one of these and
--- what it takes beside the kernel.
---
--- Refuses, where a condition is given, what the step refuses before it holds.
---
--- @param step (step, required): what to do with the kernel
--- @param done (function): tells of a kernel, and of how many steps it took, whether that is enough
--- @option limit (integer, default 100): so many steps without an end are an error
--- @return kernel (kernel): the first kernel of which the condition holds
--- @return count (integer): how many steps it took
--- @example
---     kernel total(n: int32, a: float64[n], c: float64[n])
---     domain {[i]: 0 <= i < n}
---     c[i] = 2*a[i]
---
---     local lib = require "moonloop.lib"
---     local function halve(knl) return lp.split_iname(knl, knl.inames[1], 2) end
---     knl = lib.repeat_until(knl, halve, function(knl) return #knl.inames == 4 end)
local function repeat_until(knl, step, done, options)
  support.kernel("repeat_until", knl)
  if type(done) == "table" and options == nil then done, options = nil, done end
  step = support.step("repeat_until", 2, step)
  local callable = done == nil or type(done) == "function"
  support.check(callable, "repeat_until", 3, "function expected, got %s", type(done))
  options = support.options("repeat_until", 4, options, "limit")
  local limit = support.integer("repeat_until", 4, options.limit or 100, 0)

  local count = 0
  while not (done and done(knl, count)) do
    support.check(count < limit, "repeat_until", 4, "no end after %d steps", limit)
    if done then
      knl = step(knl)
    else
      local after = lp.attempt(step, knl)
      if not after or after == knl then break end
      knl = after
    end
    count = count + 1
  end
  return knl, count
end

return repeat_until
