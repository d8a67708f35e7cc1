-- Blocks of results on devices: a group computes a block, each work-item several elements of it in
-- registers, and what the block reads goes through local memory, some terms of the reduction at a
-- time. For moonloop.auto alone.
local Facts = require "moonloop.auto_facts"
local Script = require "moonloop.auto_script"

local Blocks = {
  why_whole = "whole blocks need no guards where they add up; beyond the loops they add zeros",
}

-- A device has about as many groups at once, and each has so many bytes of local memory.
Blocks.kGroups = 128
local kLocal = 48*1024

-- Whether blocks along `v` and another parallel loop share what they read along reductions, at least
-- one.
function Blocks.of(facts, nest, parallel, v)
  if #nest.loop.ids ~= 1 or #nest.rest == 0 then return nil end
  for _, each in ipairs(nest.rest) do
    if not facts.reduced[each] then return nil end
  end
  for _, u in ipairs(Facts.without(parallel, v)) do
    local out = {u = u, v = v, rs = nest.rest, r = nest.rest[1], size = 0, around = parallel,
                 trips = facts.trips}
    local shared = true
    for _, r in ipairs(nest.rest) do
      local of_u, of_v = 0, 0  -- arrays along each axis
      for _, access in ipairs(nest.deep) do
        local along_u, along_v = Facts.stride(access, u), Facts.stride(access, v)
        if not access.write and Facts.stride(access, r) ~= 0 then
          of_u = of_u + (along_u ~= 0 and along_v == 0 and 1 or 0)
          of_v = of_v + (along_v ~= 0 and along_u == 0 and 1 or 0)
          out.size = math.max(out.size, access.size)
        end
      end
      out.of_u, out.of_v = math.max(out.of_u or 0, of_u), math.max(out.of_v or 0, of_v)
      shared = shared and of_u > 0 and of_v > 0
    end
    if shared then return out end
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
      if not trips then return Blocks.kGroups end
      local key = iname == block.u and "u" or iname == block.v and "v"
      out = out*(key and -(-trips // (items*vector*parts[key])) or trips)
    end
    return out
  end
  while groups() < Blocks.kGroups and parts.u*parts.v > 1 do
    local key = parts.u >= parts.v and "u" or "v"
    parts[key] = parts[key] // 2
  end
  return parts
end

-- How many terms of the reduction fit into so much local memory at once.
local function steps_of(block, parts, items, vector, room)
  local steps = 16
  local rows = items*vector*(parts.u*block.of_u + parts.v*block.of_v) + 4*(block.of_u + block.of_v)
  while steps > 4 and rows*steps*block.size > room do steps = steps // 2 end
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

-- The splits of a loop into groups, parts a row of work-items apart, work-items, and neighbours of one.
local function splits_of(iname, axis, number, tag)
  local inside, rest = iname .. "_in", iname .. "_rest"
  return {iname, axis.size,
          {outer_iname = iname .. "_block", inner_iname = inside, outer_tag = "g." .. number}},
    {inside, axis.row, {outer_iname = iname .. "_part", inner_iname = rest, outer_tag = "ilp"}},
    {rest, axis.vector, {outer_iname = iname .. "_item", inner_iname = iname .. "_reg",
                         outer_tag = "l." .. number, inner_tag = tag}}
end

-- The rules that `after` has and `before` has not.
function Blocks.new_rules(before, after)
  local known, out = {}, {}
  for _, each in ipairs(before.rules) do known[each.name] = true end
  for _, each in ipairs(after.rules) do
    if not known[each.name] then out[#out + 1] = each end
  end
  return out
end

-- A name for the tile of a rule that no temporary has.
function Blocks.tile_for(script, rule)
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
  local tile = Blocks.tile_for(script, rule)
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
  if #block.rs > 1 then return false end
  local script, u, v, r = self.script, block.u, block.v, block.r
  local items, vector = 16, block.size > 4 and 2 or 4
  local parts = parts_of(block, items, vector)
  local axes = {[u] = axis_of(script, u, parts.u, items, vector),
                [v] = axis_of(script, v, parts.v, items, vector)}
  -- Products of the same block of a recurrence are one kernel's where no group waits for another.
  local room = self.recurrence and kLocal // 2 or kLocal
  local steps = script:knob(r .. "_steps", {4, 8, 16, 32}, steps_of(block, parts, items, vector, room))
  local before = script.knl
  if not script:try(Blocks.why_whole, "round_up",
                    {[u] = axes[u].size, [v] = axes[v].size, [r] = steps}) then
    return false
  end
  local rules = Blocks.new_rules(before, script.knl)
  local why = ("a group computes a block along `%s` and `%s`, each work-item several elements of it")
    :format(u, v)
  local third = Facts.without(Facts.without(block.around, u), v)
  local walk = ("the group fetches what it needs for some `%s` at a time into local memory"):format(r)
  local splits = {splits_of(v, axes[v], 0, tag)}
  table.move({splits_of(u, axes[u], 1, "ilp")}, 1, 3, #splits + 1, splits)
  splits[#splits + 1] = {
    r, steps, {outer_iname = r .. "_block", inner_iname = r .. "_step", inner_tag = "unr"}, why = walk,
  }
  local tags = #third > 0 and {[third[#third]] = "g.2"} or {}
  if not script:try_splits(why, splits, tags) then return false end
  for _, rule in ipairs(rules) do
    if not stage(script, walk, rule, block, axes) then return false end
  end
  return true
end

return Blocks
