local lp = require "moonloop"
local support = require "moonloop.support"

--- Skews a loop against another one: the inner loop's variable j becomes j + factor*i.
---
---     for i: for j: s(i, j)    becomes    for i: for t: s(i, t - factor*i)
---
--- The order stays; but loops that could not be interchanged or tiled may then be.
---
--- Refuses loops of different domains, and loops that have tags or stand in a priority.
---
--- @param outer (string, required): the loop i that stays
--- @param inner (string, required): the loop j that is skewed
--- @param factor (integer, default 1): how far each iteration of the outer loop moves the inner one
--- @option name (string, default <inner>_skewed): name of the new loop
--- @return kernel (kernel): the skewed kernel
--- @return name (string): name of the new loop
--- @example
---     kernel smooth(n: int32, a: float64[n, n])
---     domain {[i, j]: 1 <= i < n and 1 <= j < n - 1}
---     a[i, j] = a[i - 1, j + 1] + a[i, j - 1]
---
---     local lib = require "moonloop.lib"
---     local t
---     knl, t = lib.skew(knl, "i", "j")
---     knl = lp.prioritize_loops(knl, {t, "i"})
local function skew(knl, outer, inner, factor, options)
  support.kernel("skew", knl)
  support.iname("skew", 2, knl, outer)
  support.iname("skew", 3, knl, inner)
  support.check(outer ~= inner, "skew", 3, "'%s' cannot be skewed against itself", inner)
  if type(factor) == "table" and options == nil then factor, options = nil, factor end
  factor = support.integer("skew", 4, factor or 1)
  options = support.options("skew", 5, options, "name")
  local name = options.name or support.fresh(knl, inner .. "_skewed")
  local times = math.abs(factor) == 1 and "" or math.abs(factor) .. "*"
  local map = ("{ [%s, %s] -> [%s, %s] : %s = %s %s %s%s }"):format(
    outer, inner, outer, name, name, inner, factor < 0 and "-" or "+", times, outer)
  return lp.map_domain(knl, map), name
end

return skew
