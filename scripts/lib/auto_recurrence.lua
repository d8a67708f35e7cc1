-- Sums over what earlier iterations of a loop in order have computed, as factorizations and
-- substitutions have: in blocks of these iterations, the terms of the blocks before are a sum of their
-- own, for many results at once; the rest stays in order. For moonloop.auto alone.
local Facts = require "moonloop.auto_facts"
local Script = require "moonloop.auto_script"

local Recurrence = {}

local kTerms = 64     -- so long sums are worth it
local kUnknown = 1000  -- iterations of a loop of unknown length

-- Whether sums of at least so many terms read along these what stands in the loop writes.
function Recurrence.reads_its_results(facts, loop, terms)
  local written = {}
  for _, id in ipairs(loop.ids) do
    for _, each in ipairs(facts.accesses[id]) do
      if each.write then written[each.variable] = true end
    end
  end
  for _, id in ipairs(loop.ids) do
    local sums = facts.instruction[id].reduction_inames
    for _, each in ipairs(#sums == 1 and facts.accesses[id] or {}) do
      local trips = facts.trips[sums[1]] or kUnknown
      if not each.write and written[each.variable] and Facts.stride(each, sums[1]) ~= 0
          and trips >= terms then
        return true
      end
    end
  end
  return false
end

-- By instruction, along what blocks are cut: members of isl's outermost band, the innermost first, as
-- they are of whole results.
local function directions(script, loop)
  local schedule = Facts.schedule(script.knl, loop.iname)
  if not schedule then return {} end
  local out = {}
  local function look(tree)
    local band = tree.kind == "band" and tree.permutable and tree
    for _, id in ipairs(loop.ids) do band = band and band.members[1].values[id] and band end
    if band then
      for m = #band.members, 1, -1 do out[#out + 1] = band.members[m].values end
    else
      for _, child in ipairs(tree.children or {}) do look(child) end
    end
  end
  look(schedule)
  return out
end

-- Whether a sum of the instruction runs along what the direction is of results that it reads: of
-- `x[k]` along `k`, where `x[i]` is computed along `i`.
local function sums_along(facts, loop, along, id)
  local r = facts.instruction[id].reduction_inames
  for _, read in ipairs(#r == 1 and facts.accesses[id] or {}) do
    for axis, index in ipairs(not read.write and read.index or {}) do
      for _, other in ipairs(index == r[1] and loop.ids or {}) do
        for _, write in ipairs(facts.accesses[other]) do
          if write.write and write.variable == read.variable and write.index[axis] == along[other] then
            return true
          end
        end
      end
    end
  end
  return false
end

-- The instructions that a loop is around.
local function instructions_in(knl, iname)
  local out = {}
  for _, each in ipairs(knl.instructions) do
    if Facts.contains(each.inames, iname) then out[#out + 1] = each end
  end
  return out
end

local function set_of(list)
  local out = {}
  for _, each in ipairs(list) do out[each] = true end
  return out
end

local function any_of(ids) return "id:" .. table.concat(ids, " or id:") end

-- Where a block begins, and where it ends.
local function begin_of(block, size)
  return Script.computed('("%%d*' .. block .. '"):format(%s)', {size},
                         function(n) return ("%d*%s"):format(n, block) end)
end
local function end_of(block, size)
  return Script.computed('("%%d*' .. block .. ' + %%d"):format(%s, %s)', {size, size},
                         function(n) return ("%d*%s + %d"):format(n, block, n) end)
end

-- Whether the first part of a sum has terms, and no loop but those `outside` is around both parts.
local function is_apart(knl, outside, r, near, params)
  if knl:trips(params)[r] == 0 then return false end
  local around = {}
  for _, insn in ipairs(instructions_in(knl, near)) do
    for _, each in ipairs(insn.inames) do around[each] = not outside[each] end
  end
  for _, insn in ipairs(instructions_in(knl, r)) do
    for _, each in ipairs(insn.inames) do
      if around[each] then return false end
    end
  end
  return true
end

-- Blocks of the loop along the direction: gives the loop over them, and the names of loops over terms
-- of the same block; nothing where some step is refused, or no sum is of blocks before alone.
local function cut(device, loop, along, size)
  local script, facts = device.script, device.facts
  local sums, summing = {}, {}
  for _, id in ipairs(loop.ids) do
    if sums_along(facts, loop, along, id) then
      sums[#sums + 1] = facts.instruction[id].reduction_inames[1]
      summing[#summing + 1] = id
    end
  end
  if #sums == 0 then return nil end
  local block = device:fresh(loop.iname .. "_panel")
  local why = ("blocks of `%s`: what they need of the blocks before is a sum of its own"):format(loop.iname)
  if not script:try(why, "unfold_reduction", any_of(summing)) then return nil end
  local of = {}
  for _, each in ipairs(instructions_in(script.knl, loop.iname)) do
    of[each.id] = along[facts:instruction_of(each.id, loop.iname)]
  end
  if not script:try(why, "skewed_tiles", loop.iname, of, size, {tile_iname = block}) then return nil end
  local near, names = {}, {}
  for _, r in ipairs(sums) do
    near[r] = device:fresh(r .. "_near")
    if not script:try(why, "split_at", r, begin_of(block, size), {from_iname = near[r]}) then return nil end
    names[near[r]] = true
  end
  if not script:try(why, "distribute_loops", loop.iname) then return nil end
  local outside = set_of(loop.around)
  outside[block] = true
  for _, r in ipairs(sums) do
    if not is_apart(script.knl, outside, r, near[r], device.params) then return nil end
    for _, each in ipairs{r, near[r]} do
      local ids = {}
      for _, insn in ipairs(instructions_in(script.knl, each)) do ids[#ids + 1] = insn.id end
      if #ids == 0 or not script:try(why, "recognize_reduction", each, any_of(ids)) then return nil end
    end
  end
  return block, names
end

-- Cuts a loop where its block ends, unless it ends there anyway; gives whether it did.
local function cut_at_end(device, why, iname, at)
  local own, rest = device.script, device:fresh(iname .. "_beyond")
  device.script = own:fork()
  if device.script:try(why, "split_at", iname, at, {from_iname = rest})
      and device.script.knl:trips(device.params)[rest] ~= 0 then
    return true
  end
  device.script = own
  return false
end

-- Of a loop whose iterations need each other, parts them from those that only need them: what is
-- beyond the block along any loop comes apart.
local function part(device, block, iname, size)
  local facts, at = device.facts, end_of(block, size)
  local why = "what is beyond a block only needs it: the block itself stays in order"
  cut_at_end(device, why, iname, at)
  local cut = device.script
  for _, each in ipairs(facts.loops) do
    if Facts.contains(each.around, iname) and not facts.reduced[each.iname] then
      cut_at_end(device, why, each.iname, at)
    end
  end
  if device.script ~= cut and not device.script:try(why, "distribute_loops", iname) then
    device.script = cut
  end
end

-- What the element that an instruction computes has along the direction, by instruction: an axis.
local function axes_of(facts, loop, along)
  local out = {}
  for _, id in ipairs(loop.ids) do
    for _, access in ipairs(facts.accesses[id]) do
      for axis, index in ipairs(access.write and access.index or {}) do
        if index == along[id] then out[id] = axis end
      end
    end
  end
  return out
end

-- The longest of the names that begins `name`, as names of copies begin.
local function begins(names, name)
  local best
  for each in pairs(names) do
    if (name == each or name:sub(1, #each + 1) == each .. "_") and (not best or #each > #best) then
      best = each
    end
  end
  return best
end

-- Along what waves of a loop in a block may be cut once its sums are unfolded: in each, all terms of
-- the results of one value of the block's direction, and what these results need.
function Recurrence.along_terms(device, loop)
  local block, out = device.recurrence, {}
  if not block then return nil end
  for _, id in ipairs(loop.ids) do
    for _, each in ipairs(device.facts.instruction[id].inames) do
      if begins(block.near, each) then out[id] = each end
    end
    local of = begins(block.axes, id)
    for _, access in ipairs(device.facts.accesses[id]) do
      if access.write and of and not out[id] then out[id] = access.index[block.axes[of]] end
    end
    if not out[id] then return nil end
  end
  return out
end

-- Takes the steps, and those for what stands in the blocks; gives whether this was done.
function Recurrence.blocks(device, loop)
  local facts, sizes, size = device.facts, {8, 16, 32, 64, 128}, 64
  while size > 8 and 16*size > (facts.trips[loop.iname] or math.huge) do size = size // 2 end
  if loop.par or not Recurrence.reads_its_results(facts, loop, kTerms) then return false end
  for _, along in ipairs(directions(device.script, loop)) do
    local own = device.script
    device.script = own:fork()
    local knob = device.script:knob(loop.iname .. "_panel", sizes, size)
    local block, near = cut(device, loop, along, knob)
    if block then
      local outer = device.recurrence
      device.recurrence = {near = near, axes = axes_of(facts, loop, along)}
      device.facts = Facts.of(device.script.knl, device.params, block)
      for _, each in ipairs(device.facts.inside[block]) do
        if not device.facts.loop[each].par then part(device, block, each, knob) end
      end
      device.facts = Facts.of(device.script.knl, device.params, block)
      for _, each in ipairs(device.facts.inside[block]) do device:nest(each) end
      device.facts, device.recurrence = facts, outer
      return true
    end
    device.script = own
  end
  return false
end

return Recurrence
