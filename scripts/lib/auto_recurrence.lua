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
  if knl:trips(params, r) == 0 then return false end
  local around = {}
  for _, insn in ipairs(Facts.instructions_in(knl, near)) do
    for _, each in ipairs(insn.inames) do around[each] = not outside[each] end
  end
  for _, insn in ipairs(Facts.instructions_in(knl, r)) do
    for _, each in ipairs(insn.inames) do
      if around[each] then return false end
    end
  end
  return true
end

-- The instructions in the loop that sum along the direction, and the inames of these sums.
local function sums_of(facts, loop, along)
  local ids, sums = {}, {}
  for _, id in ipairs(loop.ids) do
    if sums_along(facts, loop, along, id) then
      ids[#ids + 1] = id
      sums[#sums + 1] = facts.instruction[id].reduction_inames[1]
    end
  end
  return ids, sums
end

-- Makes sums of loops over terms, each for its instructions.
local function recognize(script, why, loops)
  for _, each in ipairs(loops) do
    local ids = {}
    for _, insn in ipairs(Facts.instructions_in(script.knl, each)) do ids[#ids + 1] = insn.id end
    if #ids == 0 or not script:try(why, "recognize_reduction", each, any_of(ids)) then return false end
  end
  return true
end

-- Blocks of the loop along the direction: gives the loop over them, and the names of loops over terms
-- of the same block; nothing where some step is refused, or no sum is of blocks before alone.
local function cut(device, loop, along, size)
  local script, facts = device.script, device.facts
  local summing, sums = sums_of(facts, loop, along)
  if #sums == 0 then return nil end
  local block = device:fresh(loop.iname .. "_panel")
  local why = ("blocks of `%s`: what they need of the blocks before is a sum of its own"):format(loop.iname)
  if not script:try(why, "unfold_reduction", any_of(summing)) then return nil end
  local of = {}
  for _, each in ipairs(Facts.instructions_in(script.knl, loop.iname)) do
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
    if not recognize(script, why, {r, near[r]}) then return nil end
  end
  return block, names
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

-- The loops of subscripts on axes along which the direction cuts results: where a block ends, they pass
-- from what is in the block to what is beyond it. Others, as those over right sides, do not.
local function directed_loops(facts, loop, along)
  local axes, out = {}, {}
  for _, id in ipairs(loop.ids) do
    for _, access in ipairs(facts.accesses[id]) do
      for axis, index in ipairs(access.write and access.index or {}) do
        if index == along[id] then axes[access.variable .. " " .. axis] = true end
      end
    end
  end
  for _, id in ipairs(loop.ids) do
    for _, access in ipairs(facts.accesses[id]) do
      for axis, index in ipairs(access.index) do
        if axes[access.variable .. " " .. axis] and facts.loop[index] then out[index] = true end
      end
    end
  end
  return out
end

local function is_idle(device, iname) return device.script.knl:trips(device.params, iname) == 0 end

-- Cuts a loop where its block ends, unless it ends there anyway; gives whether it did.
local function cut_at_end(device, why, iname, at, name)
  local own, rest = device.script, name or device:fresh(iname .. "_beyond")
  device.script = own:fork()
  if device.script:try(why, "split_at", iname, at, {from_iname = rest})
      and not is_idle(device, iname) and not is_idle(device, rest) then
    return true
  end
  device.script = own
  return false
end

-- The loops in `iname`: those of results, and those over terms that are added to one result.
local function loops_in(knl, iname, outside)
  local known, inside, results, terms = {}, {}, {}, {}
  for _, insn in ipairs(Facts.instructions_in(knl, iname)) do inside[insn.id] = insn end
  for _, access in ipairs(knl:accesses()) do
    local insn = access.write and inside[access.statement]
    for _, each in ipairs(insn and insn.inames or {}) do
      if each ~= iname and not outside[each] and not known[each] then
        known[each] = true
        table.insert(Facts.stride(access, each) == 0 and terms or results, each)
      end
    end
  end
  return results, terms
end

-- Whether some nest in the block is of sums alone whose results are computed at once.
local function has_free_sums(facts, block)
  for _, iname in ipairs(facts.inside[block] or {}) do
    local loop = facts.loop[iname]
    local all = not facts.reduced[iname]
    for _, id in ipairs(loop.ids) do all = all and #facts.instruction[id].reduction_inames == 1 end
    for _, each in ipairs(all and facts:chain(loop) or {}) do all = all and facts.loop[each].par end
    if all then return true end
  end
  return false
end

-- Where sums begin with a value of their own, gives these statements loops apart; gives what the loop
-- is called then, and what those are called, or nothing where statements do not come apart so.
local function begin_apart(device, why, loop, summing)
  local function is_first(insn)
    for _, id in ipairs(summing) do
      if insn.id == id .. "_base" then return true end
    end
  end
  local script, before = device.script, Facts.instructions_in(device.script.knl, loop.iname)
  local any = false
  for _, each in ipairs(before) do any = any or is_first(each) end
  if not any then return loop.iname, {} end
  local known = set_of(script.knl.inames)
  if not script:try(why, "distribute_loops", loop.iname) then return nil end
  local name, apart = nil, {}
  for _, each in ipairs(before) do
    for _, insn in ipairs(script.knl.instructions) do
      for _, x in ipairs(insn.id == each.id and insn.inames or {}) do
        if x == loop.iname or not known[x] and x:match("^" .. loop.iname .. "_%d+$") then
          if is_first(insn) then
            apart[#apart + 1] = x
          elseif name and name ~= x then
            return nil
          else
            name = x
          end
        end
      end
    end
  end
  return name, apart
end

-- The same along terms: as soon as a block is computed, what its results add to all that is beyond
-- it, a sum for each of these at once, where `cut` has few results and ever longer sums.
local function cut_by_terms(device, loop, along, size)
  local script, facts = device.script, device.facts
  local summing, sums = sums_of(facts, loop, along)
  if #sums == 0 then return nil end
  local block, rest = device:fresh(loop.iname .. "_panel"), device:fresh(loop.iname .. "_beyond")
  local why = ("blocks of `%s`: what they add to all beyond them is a sum of its own"):format(loop.iname)
  if not script:try(why, "unfold_reduction", any_of(summing)) then return nil end
  local iname, apart = begin_apart(device, why, loop, summing)
  local of, names = {}, set_of(sums)
  for _, each in ipairs(iname and Facts.instructions_in(script.knl, iname) or {}) do
    local own = along[facts:instruction_of(each.id, loop.iname)]
    of[each.id] = own == loop.iname and iname or own
    for _, x in ipairs(each.inames) do of[each.id] = names[x] and x or of[each.id] end
  end
  local at = end_of(block, size)
  if not iname or not script:try(why, "skewed_tiles", iname, of, size, {tile_iname = block}) then
    return nil
  end
  local outside = set_of(loop.around)
  outside[block] = true
  for _, each in ipairs((loops_in(script.knl, iname, outside))) do
    script:try(why, "tight_bounds", each)
  end
  if not cut_at_end(device, why, iname, at, rest) then return nil end
  local directed = directed_loops(facts, loop, along)
  for _, each in ipairs((loops_in(device.script.knl, rest, outside))) do
    if begins(directed, each) then cut_at_end(device, why, each, at) end
  end
  if not device.script:try(why, "distribute_loops", rest) then return nil end
  local _, terms = loops_in(device.script.knl, block, outside)
  if not recognize(device.script, why, terms) then return nil end
  if not has_free_sums(Facts.of(device.script.knl, device.params, block), block) then return nil end
  return block, names, apart
end

-- Of a loop whose iterations need each other, parts them from those that only need them: what is
-- beyond the block along any loop comes apart.
local function part(device, block, iname, size, directed)
  local facts, at = device.facts, end_of(block, size)
  local why = "what is beyond a block only needs it: the block itself stays in order"
  cut_at_end(device, why, iname, at)
  local cut = device.script
  for _, each in ipairs(facts.loops) do
    if Facts.contains(each.around, iname) and not facts.reduced[each.iname]
        and begins(directed, each.iname) then
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

-- Whether results have several axes: a group has no room for large blocks of these.
local function has_rows(facts, loop)
  for _, id in ipairs(loop.ids) do
    for _, access in ipairs(facts.accesses[id]) do
      if access.write and #access.index > 1 then return true end
    end
  end
  return false
end

-- Takes the steps, and those for what stands in the blocks; gives whether this was done.
function Recurrence.blocks(device, loop)
  local facts, sizes = device.facts, {8, 16, 32, 64, 128}
  local size = device.many_results and has_rows(facts, loop) and 32 or 64
  while size > 8 and 16*size > (facts.trips[loop.iname] or math.huge) do size = size // 2 end
  if loop.par or not Recurrence.reads_its_results(facts, loop, kTerms) then return false end
  for _, along in ipairs(directions(device.script, loop)) do
    local own = device.script
    device.script = own:fork()
    local knob = device.script:knob(loop.iname .. "_panel", sizes, size)
    local block, near, apart
    if device.many_results then block, near, apart = cut_by_terms(device, loop, along, knob) end
    if not block then
      device.script = own:fork()
      block, near = cut(device, loop, along, knob)
    end
    if block then
      local outer = device.recurrence
      device.recurrence = {near = near, axes = axes_of(facts, loop, along)}
      device.facts = Facts.of(device.script.knl, device.params, block)
      local directed = directed_loops(facts, loop, along)
      for _, each in ipairs(device.facts.inside[block]) do
        if not device.facts.loop[each].par then part(device, block, each, knob, directed) end
      end
      device.facts = Facts.of(device.script.knl, device.params, block)
      for _, each in ipairs(device.facts.inside[block]) do device:nest(each) end
      device.recurrence = outer
      for _, each in ipairs(apart or {}) do
        device.facts = Facts.of(device.script.knl, device.params, each)
        device:nest(each)
      end
      device.facts = facts
      return true
    end
    device.script = own
  end
  return false
end

return Recurrence
