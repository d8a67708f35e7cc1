local lp = require "moonloop"
local support = require "moonloop.support"

-- The inames whose bounds are computed in the kernel, as a set.
local function computed_bounds(knl)
  local temporary, out = {}, {}
  for _, each in ipairs(knl.temporaries) do temporary[each.name] = true end
  for _, domain in ipairs(knl.domains) do
    local params, inames = domain:match "^%s*%[(.-)%]%s*%->%s*{%s*%[(.-)%]"
    local computed = false
    for name in (params or ""):gmatch "[%w_]+" do computed = computed or temporary[name] end
    for name in (inames or ""):gmatch "[%w_]+" do out[name] = computed or nil end
  end
  return out
end

-- The inames with a few values only, whose number is known, as a set.
local function short_loops(knl)
  local few, out = 32, {}
  for _, domain in ipairs(knl.domains) do
    for first, name, last in domain:gmatch "(%-?%d+) <= ([%w_]+) <= (%-?%d+)" do
      if last - first < few then out[name] = true end
    end
  end
  return out
end

-- The instructions with reductions over some of the loops: the loops of each, outer to inner, and as
-- a set.
local function reductions_over(knl, loops, order)
  local out = {}
  for _, instruction in ipairs(knl.instructions) do
    local all, any, over = {}, false, {}
    for _, iname in ipairs(instruction.reduction_inames) do
      all[iname], any = true, any or loops[iname]
    end
    for _, iname in ipairs(order) do
      if all[iname] then over[#over + 1] = iname end
    end
    if any then
      out[#out + 1] = {id = instruction.id, over = over, all = all, inames = instruction.inames}
    end
  end
  return out
end

-- The reductions in loops over which others go, and the rest: of those, a work-item does all itself.
local function nested_reductions(reductions)
  local outer, inner = {}, {}
  for _, reduction in ipairs(reductions) do
    local inside = false
    for _, other in ipairs(reductions) do
      for _, iname in ipairs(reduction.inames) do inside = inside or other.all[iname] end
    end
    local list = inside and inner or outer
    list[#list + 1] = reduction
  end
  return inner, outer
end

-- The kernel where variables that a loop among `parallel` sets, and that something outside of it
-- uses, are there once for all work-items.
local function with_shared_results(knl, parallel)
  for _, each in ipairs(knl.temporaries) do
    local inside, outside = false, false
    local uses = ("writes:%s or reads:%s"):format(each.name, each.name)
    for _, instruction in ipairs(lp.find_instructions(knl, uses)) do
      local here = false
      for _, iname in ipairs(instruction.inames) do here = here or parallel[iname] end
      outside = outside or not here
      local writes = ("id:%s and writes:%s"):format(instruction.id, each.name)
      inside = inside or here and #lp.find_instructions(knl, writes) > 0
    end
    if inside and outside then
      knl = lp.attempt(lp.set_temporary_address_space, knl, each.name, "global") or knl
    end
  end
  return knl
end

-- The kernel where an array whose size only the caller knows, and that each iteration of parallel loops
-- has for itself, has axes for these loops: work-items have no memory of such a size.
local function with_own_arrays(knl, parallel)
  local own = {}  -- by array: loops around all accesses, none of which chooses an element
  for _, each in ipairs(knl.temporaries) do
    local known = true
    for _, extent in ipairs(each.shape or {}) do known = known and tonumber(extent) end
    if not known and each.space == "auto" then own[each.name] = false end
  end
  if not next(own) then return knl end
  for _, access in ipairs(knl:accesses()) do
    local before = own[access.variable]
    if before ~= nil then
      local here = {}
      for _, iname in ipairs(access.inames) do
        local apart = parallel[iname] and (access.strides[iname] or 0) == 0
        if apart and (not before or before[iname]) then here[iname] = true end
      end
      own[access.variable] = here
    end
  end
  for _, each in ipairs(knl.temporaries) do
    local loops = {}
    for _, iname in ipairs(knl.inames) do
      if own[each.name] and own[each.name][iname] then loops[#loops + 1] = iname end
    end
    if #loops > 0 then
      knl = lp.attempt(lp.privatize_temporaries_with_inames, knl, loops, each.name) or knl
    end
  end
  return knl
end

-- How many groups take turns at a loop whose length only the device knows.
local kTurns = 256

--- Gives the iterations of parallel loops to the work-items of a device.
---
--- These are the loops tagged `par` (`g.N` too where nothing is tagged `l.N`), and loops without tags
--- or tagged `simd` that can be proved parallel as well, in them or elsewhere, but for those of a few
--- iterations. Of each nest the innermost one is split, by `size`, into
--- groups along axis 0 of the grid and their work-items, `g.0` and `l.0`; those around it are `g.1`
--- and `g.2`, and a fourth one runs in order. Where the bounds of such a loop are computed in the
--- kernel, 256 groups take turns.
---
--- A reduction over such loops has two stages: each group adds up `rows` iterations of the loop
--- outside of the innermost one (or as many blocks of a single loop; one, where other statements in
--- the loops do not allow more) and keeps the result in an array; one group puts these together.
---
--- An array whose size is an argument, and that each iteration has for itself, gets axes for the loops
--- that became work-items.
---
--- `gen`, `run` and `fc` do this by themselves where a kernel still has a loop tagged `par` after
--- all scripts and the target is a device.
---
--- Refuses what tag_inames and stage_reduction refuse. What `unsafe` let a loop have is left to its
--- work-items, too.
---
--- @option size (integer, default 128): work-items of a group
--- @option rows (integer, default 32): iterations that a group adds up one after the other
--- @option each (integer, default 1): iterations of the loop outside of the innermost one that a
---   work-item does one after the other where nothing is reduced; several use again what they read
--- @return kernel (kernel): the kernel for a device
--- @example
---     kernel axpy(n: int32, a: float64, x: float64[n], y: float64[n])
---     domain {[i]: 0 <= i < n}
---     tag i: par
---     y[i] = y[i] + a*x[i]
---
---     local lib = require "moonloop.lib"
---     knl = lib.work_items(knl, {size = 256})
local function work_items(knl, options)
  support.kernel("work_items", knl)
  options = support.options("work_items", 2, options, "each, rows, size")
  local size, rows, turns = options.size or 128, options.rows or 32, options.each or 1
  size = support.integer("work_items", 2, size, 1)
  rows = support.integer("work_items", 2, rows, 1)
  turns = support.integer("work_items", 2, turns, 1)

  local around, order = support.nests(knl)
  local computed, short = computed_bounds(knl), short_loops(knl)
  local parallel, given, items, trusted = {}, {}, false, {}
  for _, iname in ipairs(knl.trusted_inames) do trusted[iname] = true end
  for _, tag in pairs(knl.iname_tags) do items = items or tag:find "^l%." ~= nil end
  for iname, tag in pairs(knl.iname_tags) do
    given[iname] = tag == "par" or (not items and tag:find "^g%.%d$" ~= nil) or nil
  end
  local reductions = reductions_over(knl, given, order)
  local function reduced_otherwise(iname)
    for _, instruction in ipairs(knl.instructions) do
      for _, each in ipairs(instruction.reduction_inames) do
        if each == iname then
          for _, reduction in ipairs(reductions) do
            if reduction.id == instruction.id then return false end
          end
          return true
        end
      end
    end
    return false
  end
  for _, iname in ipairs(order) do
    parallel[iname] = given[iname]
    local tag = knl.iname_tags[iname]
    local free = (not tag or tag == "simd") and not short[iname] and not reduced_otherwise(iname)
    local inside = #around[iname] > 0 and parallel[around[iname][1]]
    for _, outer in ipairs(around[iname]) do free = free and parallel[outer] == inside end
    if free then
      local bare = tag and lp.untag_inames(knl, iname, tag) or knl
      local tagged = lp.attempt(lp.tag_inames, bare, {[iname] = "par"})
      if tagged then knl, parallel[iname] = tagged, true end
    end
  end

  -- How many parallel loops stand inside of each one, at most.
  local inside = {}
  for _, iname in ipairs(order) do
    inside[iname] = inside[iname] or 0
    local deeper = 0
    for at = #around[iname], 1, -1 do
      local outer = around[iname][at]
      if parallel[iname] and parallel[outer] then
        deeper = deeper + 1
        inside[outer] = math.max(inside[outer] or 0, deeper)
      end
    end
  end
  for _, iname in ipairs(order) do
    if parallel[iname] then knl = lp.untag_inames(knl, iname, knl.iname_tags[iname]) end
  end
  local nested
  nested, reductions = nested_reductions(reductions)
  for _, reduction in ipairs(nested) do
    for _, iname in ipairs(reduction.over) do parallel[iname] = nil end
  end
  knl = with_own_arrays(knl, parallel)

  local function scheduled(knl, rows)
    local _
    local tags, groups, alone = {}, {}, {}  -- `groups`: the loop over groups that a loop became
    local claimed = {}  -- tags of what loops became that `unsafe` made parallel
    local function tag(iname, from, as) (trusted[from] and claimed or tags)[iname] = as end
    local function innermost(iname, blocks)
      local items = iname
      if computed[iname] then
        knl, _, items = support.split(knl, iname, size*kTurns)
      elseif blocks > 1 then
        knl, groups[iname], items = support.split(knl, iname, size*blocks)
        tag(groups[iname], iname, "g.0")
      end
      local outer, inner
      knl, outer, inner = support.split(knl, items, size)
      if not groups[iname] then
        groups[iname] = outer
        tag(outer, iname, "g.0")
      end
      tag(inner, iname, "l.0")
    end
    local function further(iname, axis, block)
      groups[iname] = iname
      if computed[iname] then
        knl, _, groups[iname] = support.split(knl, iname, kTurns)
      elseif block > 1 then
        knl, groups[iname] = support.split(knl, iname, block)
      end
      if axis <= 2 then tag(groups[iname], iname, "g." .. axis) end
    end

    for _, reduction in ipairs(reductions) do
      local over, outer, known = reduction.over, {}, nil
      local possible, _ = true, nil
      for _, iname in ipairs(over) do possible = possible and parallel[iname] and not computed[iname] end
      for n = #over, 1, -1 do
        local iname, axis = over[n], #over - n
        if not possible then
          alone[iname] = true  -- one work-item has them all
        elseif not groups[iname] then
          if axis == 0 then
            innermost(iname, #over == 1 and rows or 1)
          else
            further(iname, axis, axis == 1 and rows or 1)
          end
        end
        outer[n] = groups[iname]
      end
      if possible then
        known = support.iname_set(knl)
        knl = lp.stage_reduction(knl, outer, "id:" .. reduction.id)
        local second  -- the outermost loop over groups: that has most of them as a rule
        for _, iname in ipairs(knl.inames) do
          if not known[iname] then second = second or iname end
        end
        knl, _, second = support.split(knl, second, size)
        tags[second] = "l.0"
      end
    end
    for _, iname in ipairs(order) do
      if parallel[iname] and not groups[iname] and not alone[iname] then
        local axis = inside[iname]
        if axis == 0 then innermost(iname, 1) else further(iname, axis, axis == 1 and turns or 1) end
      end
    end
    if next(tags) then knl = lp.tag_inames(knl, tags) end
    return next(claimed) and lp.tag_inames(knl, claimed, {unsafe = true}) or knl
  end
  local result, refusal = lp.attempt(scheduled, knl, rows)
  if not result and #reductions > 0 and rows > 1 then result = lp.attempt(scheduled, knl, 1) end
  if not result and refusal.code == "own-copies" then
    result = lp.attempt(scheduled, with_shared_results(knl, parallel), rows)
  end
  if not result then error(refusal, 0) end
  return result
end

return work_items
