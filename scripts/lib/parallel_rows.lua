local lp = require "moonloop"
local support = require "moonloop.support"

-- What the outermost loops do, by iname: the conditions that all of their statements have, and the
-- arrays that these access. `outermost(inames)` gives the one among the loops of a statement.
local function uses(knl, outermost)
  local out, home = {}, {}
  for _, instruction in ipairs(knl.instructions) do
    local iname = outermost(instruction.inames) or outermost(instruction.reduction_inames)
    if iname then
      home[instruction.id] = iname
      local own = {}
      for _, condition in ipairs(instruction.predicates) do own[condition] = true end
      local use = out[iname]
      if not use then
        out[iname] = {conditions = own, arrays = {}}
      else
        for condition in pairs(use.conditions) do use.conditions[condition] = own[condition] end
      end
    end
  end
  for _, access in ipairs(knl:accesses()) do
    local iname = home[access.statement] or outermost(access.inames)
    local use = iname and out[iname]
    if use and #access.index > 1 then use.arrays[access.variable] = true end
  end
  return out
end

local function has_all(set, others)
  for each in pairs(others) do
    if not set[each] then return false end
  end
  return true
end

-- Whether neighbours gain from being one loop: where one of them runs the other one does too, and
-- they share an array.
local function fit(one, other)
  if not one or not other then return false end
  local a, b = one.conditions, other.conditions
  if not has_all(a, b) and not has_all(b, a) then return false end
  for array in pairs(other.arrays) do
    if one.arrays[array] then return true end
  end
  return false
end

-- Whether elements that follow each other in memory belong to iterations of `outer`, and those of
-- `inner` are far apart. Not where a value that is computed chooses the element.
local function is_along(knl, outer, inner)
  local computed, along = {}, false
  for _, each in ipairs(knl.temporaries) do computed[each.name] = true end
  for _, access in ipairs(knl:accesses()) do
    local has = {}
    for _, iname in ipairs(access.inames) do has[iname] = true end
    if has[inner] and #access.index > 0 then
      local step, other = access.strides[outer], access.strides[inner]
      if step and step ~= 1 or other == 1 or other == -1 then return false end
      for _, index in ipairs(access.index) do
        for name in index:gmatch "[%a_][%w_]*" do
          if computed[name] then return false end
        end
      end
      along = along or step == 1
    end
  end
  return along
end

-- The kernel with the parallel loop inside of the one loop in it, in lanes, where it is along
-- memory and that one is not. Nothing elsewhere, and where a loop or a statement is somewhere else.
local function turned(knl, outer, inner)
  for _, instruction in ipairs(knl.instructions) do
    local found = {}
    for _, iname in ipairs(instruction.inames) do found[iname] = true end
    if found[outer] ~= found[inner] then return nil end
  end
  if not is_along(knl, outer, inner) then return nil end
  return lp.attempt(function()
    if knl.iname_tags[inner] then knl = lp.untag_inames(knl, inner, knl.iname_tags[inner]) end
    knl = lp.untag_inames(knl, outer, "par")
    knl = lp.prioritize_loops(knl, {inner, outer})
    return lp.tag_inames(knl, {[outer] = "simd"})
  end)
end

-- The kernel in which a loop of a few iterations that is across memory has no lanes, but the loop
-- around it does if that is along memory.
local function with_longer_lanes(knl, inner, outer)
  for _, access in ipairs(knl:accesses()) do
    local step = access.strides[inner]
    if step == 1 or step == -1 then return knl end
  end
  local free = outer and not knl.iname_tags[outer] and is_along(knl, outer, inner)
  knl = lp.untag_inames(knl, inner, "simd")
  return free and lp.attempt(lp.tag_inames, knl, {[outer] = "simd"}) or knl
end

local kFew = 8  -- iterations that are not worth vectors of elements that are far apart

--- Makes neighbouring parallel loops one where they share rows of an array, and adds up in lanes.
---
--- These are outermost loops tagged `par`, one after the other, over the same values, with loops
--- inside of them, of which one runs wherever the other one does. A row that the first one of them
--- reads or writes is still in a cache when the second one needs it, and threads wait once. The
--- loops inside stay as they are. Sums, products, largest and smallest values over such a loop are
--- found in lanes of the innermost loop, tagged `simd`: what is declared to be added up by threads
--- in any order has no order of its own.
---
--- `gen`, `run` and `fc` do this by themselves to routines of Fortran that no script changes, where
--- the target is `c` or `openmp` and a directive made loops parallel. On `c`, sums keep their order
--- there, to the last digit, unless `--directives use` says that directives are to be trusted.
---
--- Where there are no threads, a parallel loop along memory moves into the one loop inside of it,
--- if that is across memory. Lanes of a loop of less than eight iterations across memory become
--- lanes of the loop around it, if that is along memory, or none.
---
--- A fusion, a move or a tag against a dependence is left out.
---
--- @option sums (boolean, default true): whether what threads add up is added up in lanes
--- @option threads (boolean, default true): whether parallel loops are shared by threads
--- @return kernel (kernel): the kernel with fewer loops
--- @example
---     kernel both(n: int32, m: int32, a: float64[n, m], b: float64[n, m], c: float64[n, m])
---     domain {[i, j]: 0 <= i < n and 0 <= j < m}
---     domain {[k, l]: 0 <= k < n and 0 <= l < m}
---     tag i: par
---     tag k: par
---     b[i, j] = 2*a[i, j]
---     c[k, l] = b[k, l] + a[k, l]
---
---     local lib = require "moonloop.lib"
---     knl = lib.parallel_rows(knl)
---     assert(#knl.inames == 3)
local function parallel_rows(knl, options)
  support.kernel("parallel_rows", knl)
  options = support.options("parallel_rows", 2, options, "sums, threads")
  local tags = knl.iname_tags
  local around, order = support.nests(knl)
  local inside = {}  -- by iname, the loops in it
  for _, iname in ipairs(order) do
    for _, outer in ipairs(around[iname]) do
      inside[outer] = inside[outer] or {}
      table.insert(inside[outer], iname)
    end
  end

  if options.threads == false then
    for _, iname in ipairs(order) do
      local one = tags[iname] == "par" and #around[iname] == 0 and inside[iname]
      if one and #one == 1 then knl = turned(knl, iname, one[1]) or knl end
    end
    tags = knl.iname_tags
  end

  local trips = knl:trips()
  for _, iname in ipairs(order) do
    if tags[iname] == "simd" and not inside[iname] and (trips[iname] or kFew) < kFew then
      local outer = around[iname][#around[iname]]
      if outer and #inside[outer] > 1 then outer = nil end
      knl = with_longer_lanes(knl, iname, outer)
    end
  end
  tags = knl.iname_tags

  for _, instruction in ipairs(options.sums == false and {} or knl.instructions) do
    local by_threads, innermost = false, nil
    for _, iname in ipairs(instruction.reduction_inames) do
      by_threads = by_threads or tags[iname] == "par"
      if around[iname] and not inside[iname] and not tags[iname] then innermost = iname end
    end
    if by_threads and innermost and not knl.iname_tags[innermost] then
      knl = lp.attempt(lp.tag_inames, knl, {[innermost] = "simd"}) or knl
    end
  end

  local function outermost(inames)
    for _, iname in ipairs(inames) do
      if around[iname] and #around[iname] == 0 then return iname end
    end
  end
  local use, last = uses(knl, outermost), nil
  for _, iname in ipairs(order) do
    if #around[iname] == 0 then
      local fused
      if last and tags[iname] == "par" and tags[last] == "par" and inside[iname]
         and inside[last] and fit(use[last], use[iname]) then
        fused = lp.attempt(lp.rename_iname, knl, iname, last, {existing_ok = true})
      end
      if fused then
        knl = fused
        for array in pairs(use[iname].arrays) do use[last].arrays[array] = true end
        for condition in pairs(use[last].conditions) do
          use[last].conditions[condition] = use[iname].conditions[condition]
        end
      else
        last = iname
      end
    end
  end
  return knl
end

return parallel_rows
