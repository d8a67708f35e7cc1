local lp = require "moonloop"
local support = require "moonloop.support"

--- Runs the diagonals of two loops one after the other, the points of each at the same time.
---
---     for i: for j: s(i, j)    becomes    for t: for i in parallel: s(i, t - factor*i)
---
--- For recurrences such as Gauss-Seidel's or an edit distance, where each point needs its
--- neighbours in both loops, so that neither loop can run in parallel by itself.
---
--- Refuses loops of which no diagonal of the given factors is free of dependences, with two points
--- of the last diagonal that depend on one another, and loops of different domains.
---
--- @param outer (string, required): the outer loop
--- @param inner (string, required): the inner loop
--- @option factor (integer, default the first of 1, 2, 3, 4 that is legal): how far apart along the
---   inner loop the points of a diagonal are
--- @option tag (string, default "par"): tag of the loop along a diagonal; false leaves it without
---   one
--- @option name (string, default <inner>_skewed): name of the loop over diagonals
--- @return kernel (kernel): the kernel with diagonals
--- @return name (string): name of the loop over diagonals
--- @example
---     kernel relax(n: int32, m: int32, u: inout float64[n, m])
---     domain {[i, j]: 1 <= i < n - 1 and 1 <= j < m - 1}
---     u[i, j] = (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1])/4
---
---     local lib = require "moonloop.lib"
---     knl = lib.wavefront(knl, "i", "j")
local function wavefront(knl, outer, inner, options)
  support.kernel("wavefront", knl)
  support.iname("wavefront", 2, knl, outer)
  support.iname("wavefront", 3, knl, inner)
  support.check(outer ~= inner, "wavefront", 3, "'%s' has no diagonals with itself", inner)
  options = support.options("wavefront", 4, options, "factor, name, tag")
  local factor, tag = options.factor, options.tag
  if factor ~= nil then support.integer("wavefront", 4, factor, 1) end
  support.check(tag == nil or tag == false or type(tag) == "string", "wavefront", 4,
                "option 'tag': string or false expected, got %s", type(tag))
  if tag == nil then tag = "par" end

  local function along(factor)
    local diagonals = options.name or support.fresh(knl, inner .. "_skewed")
    local times = factor == 1 and "" or factor .. "*"
    local result = lp.map_domain(knl, ("{ [%s, %s] -> [%s, %s] : %s = %s + %s%s }"):format(
      outer, inner, diagonals, outer, diagonals, inner, times, outer))
    result = lp.prioritize_loops(result, {diagonals, outer})
    -- Whether the points of a diagonal are free is asked also where the caller is to tag them.
    local tagged = lp.tag_inames(result, {[outer] = tag or "par"})
    return tag and tagged or result, diagonals
  end
  if factor then return along(factor) end
  local refusal
  for try = 1, 4 do
    local result, name = lp.attempt(along, try)
    if result then return result, name end
    refusal = name
  end
  error(refusal, 0)
end

return wavefront
