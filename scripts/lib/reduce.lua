local lp = require "moonloop"
local Shape = require "moonloop.reduction_shape"
local support = require "moonloop.support"

local kAxes = 3  -- of the grid of groups

local function instructions(knl, ids)
  local known, out = {}, {}
  for _, each in ipairs(knl.instructions) do known[each.id] = each end
  for _, id in ipairs(ids) do out[#out + 1] = known[id] end
  return out
end

local function within(ids) return "id:" .. table.concat(ids, " or id:") end

-- Gives the loops of the shape tags: work-items along memory, groups along what is kept. `chunks`: a
-- loop over groups that is no longer reduced.
local function arrange(knl, s, o, chunks)
  local tags, grid, outer, inner = {}, {}, nil, nil
  local kept = table.move(s.kept, 1, #s.kept, 1, {})
  local lanes, rows = o.lanes, o.rows
  if s.by_rows then
    local length = s.trips[s.lane] or math.huge
    lanes = lanes or o.strategy == "warp" and Shape.power(length/8, 4, Shape.kWarp)
            or Shape.power(length, Shape.kWarp, o.size)
    rows = rows or math.max(1, o.size // lanes)
    knl, outer, inner = support.split(knl, s.lane, lanes)
    tags[inner] = "l.0"
    local along = outer
    if o.strategy == "warp" then
      knl, outer, inner = support.split(knl, kept[#kept], rows)
      kept[#kept], tags[inner] = outer, "l.1"
    elseif s.near and rows > 1 then
      knl, outer, inner = support.split(knl, s.near, rows)
      tags[inner] = "l.1"
      local length, across = s.trips[s.lane] or math.huge, s.trips[s.near] or math.huge
      if length // lanes < across // rows then  -- many reads of the innermost loop are under way at once
        knl = lp.prioritize_loops(knl, {along, outer})
      end
    end
  else
    lanes = lanes or Shape.power(s.trips[s.lane] or Shape.kWarp, 4, Shape.kWarp)
    knl, outer, inner = support.split(knl, s.lane, lanes)
    tags[inner] = "l.0"
    for n, each in ipairs(kept) do
      if each == s.lane then kept[n] = outer end
    end
    knl, outer, inner = support.split(knl, s.near, rows or math.max(1, o.size // lanes))
    tags[inner] = "l.1"
  end
  for n = #kept, 1, -1 do grid[#grid + 1] = kept[n] end
  grid[#grid + 1] = chunks
  while #grid > kAxes do  -- the outermost ones become one
    local joined = support.fresh(knl, grid[kAxes + 1] .. "_" .. grid[kAxes])
    knl = lp.join_inames(knl, {grid[kAxes + 1], grid[kAxes]}, joined)
    grid[kAxes] = joined
    table.remove(grid, kAxes + 1)
  end
  for axis, iname in ipairs(grid) do tags[iname] = "g." .. axis - 1 end
  return lp.tag_inames(knl, tags)
end

-- The sum of each `chunk` iterations of one of the loops is a group's, and the sum of these another
-- instruction's. All else in the loops around comes after the parts.
local function two_stages(knl, ids, s, o)
  local around = instructions(knl, ids)[1].inames
  local known, parts, arrays, rest, chunks = {}, {}, {}, {}, nil
  for _, each in ipairs(knl.instructions) do known[each.id] = true end
  local shared, chunk = Shape.chunk(s, o.size)
  knl, chunks = support.split(knl, shared, o.chunk or chunk)
  knl = lp.stage_reduction(knl, {chunks}, within(ids))
  for _, each in ipairs(knl.instructions) do
    local inside = false
    for _, iname in ipairs(each.inames) do inside = inside or iname == around[1] end
    if not known[each.id] then
      parts[#parts + 1] = each.id
      for _, array in ipairs(each.writes) do arrays[#arrays + 1] = array end
    elseif inside then
      rest[#rest + 1] = each.id
    end
  end
  if #around > 0 then
    knl = lp.privatize_temporaries_with_inames(knl, around, arrays)
    knl = lp.set_temporary_address_space(knl, arrays, "global")
    knl = lp.distribute_loops(knl, around[1], {within(parts), within(rest)})
  end
  knl = arrange(knl, Shape.of(knl, instructions(knl, parts), o.params, chunks), o, chunks)
  local last = instructions(knl, ids)
  for n = 2, #last do  -- one loop over the parts of all
    knl = lp.rename_iname(knl, last[n].reduction_inames[1], last[1].reduction_inames[1], true)
  end
  return arrange(knl, Shape.of(knl, instructions(knl, ids), o.params),
                 {strategy = "group", size = o.size})
end

--- Computes a sum, or another reduction, by work-items of a device, as its shape asks for.
---
--- Several instructions that have all loops in common, those of their reductions too, are computed
--- in one pass. Work-items are side by side along memory. Where that is a loop of the reduction (sums along rows,
--- or of all elements), the work-items of a group, or of a warp, put their parts of one result
--- together; where it is a loop around (sums along columns), a group has 32 neighbouring results,
--- and its work-items along the second axis share the terms of each. Reduced axes may be any, also
--- with others between them.
---
--- `strategy` is one of
---
---   - `"group"`: a group has one result, or 32 neighbouring ones;
---   - `"warp"`: each row is a warp's or, if it is short, a part of one; a group has several rows;
---   - `"two_stage"`: several groups share the terms of a result, and keep their parts in an array;
---     further groups put these together, always in the same order;
---   - `"auto"`: warps from 16384 rows on, two stages where groups would be fewer than 256 and
---     there is work for more, otherwise groups. For sizes that `params` does not tell, groups, and
---     two stages where there is one result.
---
--- Refuses instructions without a reduction or with different loops, `"warp"` for sums along columns, what `tag_inames`
--- refuses for the loops around, and for two stages what `stage_reduction` and `distribute_loops`
--- refuse: there, what else is in the loops around comes after the sums.
---
--- Source: Zhao et al., "Parallelizing Neural Network Models Effectively on GPU by Implementing
--- Reductions Atomically" (2022), for the forms: of all elements, of rows, of columns.
---
--- @param ids (names, required): the instruction, or several
--- @option strategy (string, default "auto"): see above
--- @option params (integers by name): sizes by name, for which the shape is chosen
--- @option size (integer, default 256): work-items of a group
--- @option lanes (integer): of these, along memory
--- @option rows (integer): and across it
--- @option chunk (integer): with two stages, iterations that a group has of the outermost loop in memory
---   with many of them, other than the one along memory if there is one
--- @return kernel (kernel): the kernel for a device
--- @example
---     kernel columns(m: int32, n: int32, x: in float32[m, n], y: out float32[n])
---     domain {[i, j]: 0 <= i < m and 0 <= j < n}
---     y[j] = sum(i, x[i, j])   {id=add}
---
---     local lib = require "moonloop.lib"
---     knl = lib.reduce(knl, "add", {params = {m = 100000, n = 500}})
local function reduce(knl, ids, options)
  support.kernel("reduce", knl)
  ids = support.names("reduce", 2, ids)
  local o = support.options("reduce", 3, options, "chunk, lanes, params, rows, size, strategy")
  support.check(#ids > 0, "reduce", 2, "no instruction is given")
  for _, id in ipairs(ids) do
    support.check(#instructions(knl, {id}) > 0, "reduce", 2, "the kernel has no instruction '%s'", id)
  end
  local insns = instructions(knl, ids)
  local function loops(insn)
    return table.concat(insn.inames, ",") .. ";" .. table.concat(insn.reduction_inames, ",")
  end
  for _, each in ipairs(insns) do
    support.check(#each.reduction_inames > 0, "reduce", 2, "instruction '%s' reduces nothing", each.id)
    support.check(loops(each) == loops(insns[1]), "reduce", 2,
                  "instructions '%s' and '%s' have different loops", insns[1].id, each.id)
  end
  local own = {strategy = o.strategy or "auto", params = o.params or {}}
  support.check(type(own.params) == "table", "reduce", 3, "table of sizes by name expected, got %s",
                type(own.params))
  local known_sizes = {}
  for _, each in ipairs(knl.params) do known_sizes[each] = true end
  for each in pairs(own.params) do
    support.check(known_sizes[each], "reduce", 3, "the kernel has no size '%s'; it has %s",
                  tostring(each), table.concat(knl.params, ", "))
  end
  own.size = support.integer("reduce", 3, o.size or 256, 1)
  for _, each in ipairs{"chunk", "lanes", "rows"} do
    own[each] = o[each] and support.integer("reduce", 3, o[each], 1)
  end
  local s = Shape.of(knl, insns, own.params)
  if own.strategy == "auto" then own.strategy = Shape.strategy(s, own.size) end
  local known = {group = true, warp = true, two_stage = true}
  support.check(known[own.strategy], "reduce", 3,
                "no strategy '%s'; there are auto, group, two_stage, warp", tostring(own.strategy))
  support.check(own.strategy ~= "warp" or s.by_rows and #s.kept > 0, "reduce", 3,
                "'%s' has no rows along memory that warps could have", ids[1])
  if own.strategy == "two_stage" then return two_stages(knl, ids, s, own) end
  return arrange(knl, s, own)
end

return reduce
