local lp = require "moonloop"
local support = require "moonloop.support"

--- Splits a loop into vectors, and makes the loop over a vector's lanes the innermost one.
---
---     for i: for j: s(i, j)    of i, by 4, becomes    for i_outer: for j: for i_inner: s(i, j)
---
--- With tag `simd` the lanes are a loop that the compiler makes vector instructions of, on targets
--- `c` and `openmp`; with `vec` each statement runs for all lanes before the next one, with vector
--- loads and stores on devices. A loop cannot be innermost around a reduction with its one
--- accumulator: then the tag is `vec`, and each lane has an accumulator of its own. Where the width
--- does not divide the loop, the last vector is shorter; with `peel` it stands apart.
---
--- Refuses loops whose iterations depend on one another, and an order in which some dependence
--- would run backwards.
---
--- @param iname (string, required): the loop
--- @param width (integer, required): how many lanes
--- @option tag (string, default "simd" where the loop can be innermost): `simd` or `vec`
--- @option peel (boolean, default false): generates the last vector apart, so that the others need
---   no conditions
--- @return kernel (kernel): the kernel with vectors
--- @example
---     kernel axpy(n: int32, a: float64, x: float64[n], y: float64[n])
---     domain {[i]: 0 <= i < n}
---     y[i] = y[i] + a*x[i]
---
---     local lib = require "moonloop.lib"
---     knl = lib.vectorize_inner(knl, "i", 8)
local function vectorize_inner(knl, iname, width, options)
  support.kernel("vectorize_inner", knl)
  support.iname("vectorize_inner", 2, knl, iname)
  support.integer("vectorize_inner", 3, width, 1)
  options = support.options("vectorize_inner", 4, options, "peel, tag")
  local tag = options.tag
  support.check(tag == nil or tag == "simd" or tag == "vec", "vectorize_inner", 4,
                "the tag is neither \"simd\" nor \"vec\"")

  local around = support.partners(knl, iname)
  local split, _, lanes = support.split(knl, iname, width, {slabs = options.peel and {0, 1} or nil})
  local function simd()
    local result = split
    for _, loop in ipairs(around) do result = lp.prioritize_loops(result, {loop, lanes}) end
    return lp.tag_inames(result, {[lanes] = "simd"})
  end
  local function vec() return lp.tag_inames(split, {[lanes] = "vec"}) end
  if tag == "simd" then return simd() end
  if tag == "vec" then return vec() end
  local result, refusal = lp.attempt(simd)
  if result then return result end
  if refusal.code ~= "cannot-nest" then error(refusal, 0) end
  return vec()
end

return vectorize_inner
