-- Blocks of results on devices: a group computes a block, each work-item several elements of it in
-- registers, and what the block reads goes through local memory, some terms of the reduction at a
-- time. For moonloop.auto alone.
local Facts = require "moonloop.auto_facts"
local Script = require "moonloop.auto_script"

local Blocks = {}

-- A device has about as many groups at once, and each has so many bytes of local memory.
local kGroups = 128
local kLocal = 48*1024

-- Whether blocks along `v` and another parallel loop share what they read along a reduction.
function Blocks.of(facts, nest, parallel, v)
  if #nest.loop.ids ~= 1 then return nil end
  local r
  for _, each in ipairs(nest.rest) do
    if not facts.reduced[each] or r then return nil end
    r = each
  end
  if not r then return nil end
  for _, u in ipairs(Facts.without(parallel, v)) do
    local of_u, of_v, size = 0, 0, 0  -- arrays along each axis, bytes of an element
    for _, access in ipairs(nest.deep) do
      local along_u, along_v = Facts.stride(access, u), Facts.stride(access, v)
      if not access.write and Facts.stride(access, r) ~= 0 then
        of_u = of_u + (along_u ~= 0 and along_v == 0 and 1 or 0)
        of_v = of_v + (along_v ~= 0 and along_u == 0 and 1 or 0)
        size = math.max(size, access.size)
      end
    end
    if of_u > 0 and of_v > 0 then
      return {u = u, v = v, r = r, size = size, around = parallel, trips = facts.trips,
              of_u = of_u, of_v = of_v}
    end
  end
  return nil
end

-- How many parts a work-item has along each axis: as many as leave enough groups.
local function parts_of(block, items, vector)
  local parts = {u = 8 // vector, v = 8 // vector}
  if block.size > 4 then parts.v = parts.v // 2 end
  local function groups()
    local out = 1
    for _, iname in ipairs(block.around) do
      local trips = block.trips[iname]
      if not trips then return kGroups end
      local key = iname == block.u and "u" or iname == block.v and "v"
      out = out*(key and -(-trips // (items*vector*parts[key])) or trips)
    end
    return out
  end
  while groups() < kGroups and parts.u*parts.v > 1 do
    local key = parts.u >= parts.v and "u" or "v"
    parts[key] = parts[key] // 2
  end
  return parts
end

-- How many terms of the reduction fit into local memory at once.
local function steps_of(block, parts, items, vector)
  local steps = 16
  local rows = items*vector*(parts.u*block.of_u + parts.v*block.of_v) + 4*(block.of_u + block.of_v)
  while steps > 4 and rows*steps*block.size > kLocal do steps = steps // 2 end
  return steps
end

-- The numbers of an axis, as knobs.
local function axis_of(script, iname, parts, items, vector)
  local out = {
    parts = script:knob(iname .. "_parts", {1, 2, 4, 8}, parts),
    items = script:knob(iname .. "_items", {8, 16, 32}, items),
    vector = script:knob(iname .. "_vector", {1, 2, 4}, vector),
  }
  out.size = Script.product(out.parts, out.items, out.vector)
  out.row = Script.product(out.items, out.vector)
  return out
end

-- Splits a loop into groups, parts a row of work-items apart, work-items, and neighbours of one.
local function split(script, why, iname, axis, number, tag)
  local inside, rest = iname .. "_in", iname .. "_rest"
  return script:try(why, "split_iname", iname, axis.size,
                    {outer_iname = iname .. "_block", inner_iname = inside,
                     outer_tag = "g." .. number})
    and script:try(why, "split_iname", inside, axis.row,
                   {outer_iname = iname .. "_part", inner_iname = rest, outer_tag = "ilp"})
    and script:try(why, "split_iname", rest, axis.vector,
                   {outer_iname = iname .. "_item", inner_iname = iname .. "_reg",
                    outer_tag = "l." .. number, inner_tag = tag})
end

-- The rules that `after` has and `before` has not.
local function new_rules(before, after)
  local known, out = {}, {}
  for _, each in ipairs(before.rules) do known[each.name] = true end
  for _, each in ipairs(after.rules) do
    if not known[each.name] then out[#out + 1] = each end
  end
  return out
end

-- A name for the tile of a rule that no temporary has.
local function tile_for(script, rule)
  local name, known = rule.name:gsub("_read", "_tile"), {}
  for _, each in ipairs(script.knl.temporaries) do known[each.name] = true end
  local out, n = name, 1
  while known[out] do
    out, n = name .. "_of_" .. n, n + 1
  end
  return out
end

-- The tile of a rule that depends on the reduction and one axis lies along that axis; others are
-- read where they are needed.
local function stage(script, why, rule, block, axes)
  local iname
  local swept = {}  -- parameters that a group runs over
  for _, each in ipairs(rule.params) do
    if axes[each] and iname then return true end
    iname = axes[each] and each or iname
    if axes[each] or each == block.r then swept[#swept + 1] = each end
  end
  if #swept < 2 then return true end
  local tile = tile_for(script, rule)
  local inames = {}
  for i, each in ipairs(rule.params) do inames[i] = ("%s_%s"):format(tile, each) end
  local options = {default_tag = "l.auto", precompute_inames = inames, temporary_name = tile}
  local function fetched(...)
    local over = {}
    for _, each in ipairs{...} do
      for _, part in ipairs{"_part", "_item", "_reg"} do over[#over + 1] = each .. part end
    end
    over[#over + 1] = block.r .. "_step"
    return script:try(why, "precompute", rule.name, over, options)
  end
  -- The conditions of terms may depend on both axes.
  if not fetched(iname) and not fetched(block.u, block.v) then return false end
  if swept[#swept] == iname then return true end
  local axis = axes[iname]
  local padded = Script.computed(
    '("N0(pad=%%d), N1"):format(%s*%s*%s + 4)', {axis.parts, axis.items, axis.vector},
    function(...) return ("N0(pad=%d), N1"):format(Script.product(...).of(...) + 4) end)
  return script:try("work-items read along the tile, and write it across, past conflicts of banks",
                    "tag_array_axes", tile, padded)
end

-- `tag` is that of neighbouring elements of a work-item along `v`.
function Blocks.make(self, block, tag)
  local script, u, v, r = self.script, block.u, block.v, block.r
  local items, vector = 16, block.size > 4 and 2 or 4
  local parts = parts_of(block, items, vector)
  local axes = {[u] = axis_of(script, u, parts.u, items, vector),
                [v] = axis_of(script, v, parts.v, items, vector)}
  local steps = script:knob(r .. "_steps", {4, 8, 16, 32}, steps_of(block, parts, items, vector))
  local before = script.knl
  if not script:try("whole blocks need no guards where they add up; beyond the loops they add zeros",
                    "round_up", {[u] = axes[u].size, [v] = axes[v].size, [r] = steps}) then
    return false
  end
  local rules = new_rules(before, script.knl)
  local why = ("a group computes a block along `%s` and `%s`, each work-item several elements of it")
    :format(u, v)
  if not (split(script, why, v, axes[v], 0, tag) and split(script, why, u, axes[u], 1, "ilp")) then
    return false
  end
  local third = Facts.without(Facts.without(block.around, u), v)
  if #third > 0 and not script:try(why, "tag_inames", {[third[#third]] = "g.2"}) then return false end
  local walk = ("the group fetches what it needs for some `%s` at a time into local memory"):format(r)
  if not script:try(walk, "split_iname", r, steps,
                    {outer_iname = r .. "_block", inner_iname = r .. "_step", inner_tag = "unr"}) then
    return false
  end
  for _, rule in ipairs(rules) do
    if not stage(script, walk, rule, block, axes) then return false end
  end
  return true
end

-- All work-items of a group, 32 of each warp, share the elements of a tile.
local function share(script, inames, tile, warps)
  local why = "all work-items fetch, neighbours along memory"
  local item, lane, rest = tile .. "_item", tile .. "_lane", tile .. "_rest"
  local items = Script.computed("32*%s", {warps}, function(n) return 32*n end)
  return script:try(why, "join_inames", inames, item)
    and script:try(why, "split_iname", item, items,
                   {outer_iname = tile .. "_turn", inner_iname = lane})
    and script:try(why, "split_iname", lane, 32, {inner_iname = rest, outer_tag = "l.2"})
    and script:try(why, "split_iname", rest, 4, {outer_tag = "l.1", inner_tag = "l.0"})
end

-- Whether a sum along `r` is of products of two numbers, without conditions.
local function has_plain_product(knl, r)
  for _, each in ipairs(knl.instructions) do
    if each.rhs and each.rhs:match("sum%(" .. r .. ", [%w_]+%b()%*[%w_]+%b()%)") then return true end
  end
  return false
end

-- The same with matrix units, which take doubles on CUDA: a warp is 4 work-items along columns by 8
-- along rows, each with elements of two rows, 8 apart, and of two neighbouring columns, and adds four
-- terms at once.
function Blocks.make_units(self, block)
  local script, u, v, r = self.script, block.u, block.v, block.r
  local groups = 1
  for _, iname in ipairs(block.around) do
    local length = iname == u and 128 or iname == v and 64 or 1
    groups = groups*-(-(block.trips[iname] or kGroups*length) // length)
  end
  local warps = script:knob(u .. "_warps", {1, 2, 4, 8}, groups >= kGroups and 8 or 4)
  local columns = script:knob(v .. "_columns", {16, 32, 64, 128}, 64)
  local steps = script:knob(r .. "_steps", {8, 16, 32}, 16)
  local rows = Script.computed("16*%s", {warps}, function(n) return 16*n end)
  local before = script.knl
  local why = ("a group computes a block along `%s` and `%s` by matrix units"):format(u, v)
  local unit, step = r .. "_unit", r .. "_step"
  local of_u = {u .. "_warp", u .. "_half", u .. "_row", step, unit}
  local of_v = {v .. "_part", v .. "_column", v .. "_pair", step, unit}
  local taken = script:try("whole blocks need no guards where they add up; beyond the loops they add zeros",
                           "round_up", {[u] = rows, [v] = columns, [r] = steps})
  if not taken or not has_plain_product(script.knl, r) then return false end
  local rules = new_rules(before, script.knl)
  taken = taken
    and script:try(why, "split_iname", u, rows,
                   {outer_iname = u .. "_block", inner_iname = u .. "_in", outer_tag = "g.1"})
    and script:try(why, "split_iname", u .. "_in", 16,
                   {outer_iname = of_u[1], inner_iname = u .. "_rest", outer_tag = "l.2"})
    and script:try(why, "split_iname", u .. "_rest", 8,
                   {outer_iname = of_u[2], inner_iname = of_u[3], outer_tag = "ilp", inner_tag = "l.1"})
    and script:try(why, "split_iname", v, columns,
                   {outer_iname = v .. "_block", inner_iname = v .. "_in", outer_tag = "g.0"})
    and script:try(why, "split_iname", v .. "_in", 8,
                   {outer_iname = of_v[1], inner_iname = v .. "_rest", outer_tag = "ilp"})
    and script:try(why, "split_iname", v .. "_rest", 2,
                   {outer_iname = of_v[2], inner_iname = of_v[3], outer_tag = "l.0", inner_tag = "vec"})
  local third = Facts.without(Facts.without(block.around, u), v)
  if #third > 0 then
    taken = taken and script:try(why, "tag_inames", {[third[#third]] = "g.2"})
  end
  local walk = ("the group fetches what it needs for some `%s` at a time into local memory"):format(r)
  taken = taken
    and script:try(walk, "split_iname", r, steps, {outer_iname = r .. "_block", inner_iname = r .. "_in"})
    and script:try(walk, "split_iname", r .. "_in", 4,
                   {outer_iname = step, inner_iname = unit, outer_tag = "unr", inner_tag = "mma"})
  if not taken then return false end
  for _, rule in ipairs(rules) do
    local tile = tile_for(script, rule)
    local axis, first
    local names, inames = {}, {}  -- of all parameters, and of those that a group runs over
    for i, each in ipairs(rule.params) do
      names[i] = tile .. "_" .. each
      if each == u or each == v or each == r then
        first = first or each
        inames[#inames + 1] = names[i]
      end
      if each == u or each == v then axis = each end
    end
    if #inames ~= 2 then return false end
    if not script:try(walk, "precompute", rule.name, axis == u and of_u or of_v,
                      {default_tag = false, precompute_inames = names, temporary_name = tile})
        or not share(script, inames, tile, warps) then
      return false
    end
    local row = first == r and (axis == u and rows or columns) or steps
    local padded = Script.computed(
      '("N1, N0(pad=%%d)"):format(%s + 4)', {row},
      function(n) return ("N1, N0(pad=%d)"):format(n + 4) end)
    if not script:try("rows of the tile are apart, past conflicts of banks", "tag_array_axes", tile, padded) then
      return false
    end
  end
  return true
end

return Blocks
