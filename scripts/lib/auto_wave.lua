-- Waves: instances of a loop and the loops in it for which some sum of their numbers is equal run at
-- once, where every single loop carries something. For moonloop.auto alone.
local Facts = require "moonloop.auto_facts"

-- Adds `factor` times the terms of an affine expression, as isl writes it, by name; nothing where it
-- is written in another way.
local function add(sum, text, factor)
  for sign, term in (" + " .. text):gmatch " ([+-]) ([^ ]+)" do
    local number, name = term:match "^(%d+)%*([%a_][%w_]*)$"
    if not number then number, name = 1, term:match "^[%a_][%w_]*$" end
    if not name then number, name = term:match "^%d+$", "" end
    if not number then return nil end
    sum[name] = (sum[name] or 0) + factor*(sign == "-" and -1 or 1)*math.tointeger(number)
  end
  return sum
end

local function text_of(sum)
  local names, out = {}, {}
  for name, factor in pairs(sum) do
    if factor ~= 0 then names[#names + 1] = name end
  end
  table.sort(names)
  for i, name in ipairs(names) do
    local factor = sum[name]
    local size = math.abs(factor)
    local term = name == "" and tostring(size) or size == 1 and name or size .. "*" .. name
    out[#out + 1] = (factor < 0 and (i == 1 and "-" or " - ") or i == 1 and "" or " + ") .. term
  end
  return #out == 0 and "0" or table.concat(out)
end

-- The first permutable band of the tree that has a value for each of the instructions.
local function band_of(schedule, ids)
  if schedule.kind == "band" then
    local all = schedule.permutable
    for _, id in ipairs(ids) do all = all and schedule.members[1].values[id] end
    if all then return schedule end
  end
  for _, child in ipairs(schedule.children or {}) do
    local found = band_of(child, ids)
    if found then return found end
  end
end

-- What may be equal in a wave, by instruction: a member of the band that is not the loop itself, the
-- innermost first; else the sum of those that order the instructions' loops.
local function directions(script, facts, loop)
  local schedule = Facts.schedule(script.knl, loop.iname)
  local band = schedule and band_of(schedule, loop.ids)
  if not band then return {} end
  local depth = 0
  for _, id in ipairs(loop.ids) do
    local count = 0
    for _, each in ipairs(facts.loops) do
      local is_in = each == loop or Facts.contains(each.around, loop.iname)
      if is_in and facts.instruction[id].around[each.iname] then count = count + 1 end
    end
    depth = math.max(depth, count)
  end
  if depth < 2 or #band.members < depth then return {} end
  local function sum_of(first, last)
    local out, is_loop = {}, true
    for _, id in ipairs(loop.ids) do
      local sum = {}
      for m = first, last do
        sum = sum and add(sum, band.members[m].values[id], 1)
      end
      if not sum then return nil end
      out[id] = text_of(sum)
      is_loop = is_loop and out[id] == loop.iname
    end
    return not is_loop and out or nil
  end
  local out = {}
  for m = depth, 1, -1 do out[#out + 1] = sum_of(m, m) end
  out[#out + 1] = sum_of(1, depth)
  return out
end

local Wave = {}

-- Whether each instruction of the list that runs more than once within that loop has a parallel loop
-- around it there, and some instruction does.
function Wave.run_at_once(facts, ids, within)
  local any = false
  for _, id in ipairs(ids) do
    local found, often = false, false
    for _, each in ipairs(facts.loops) do
      if Facts.contains(each.around, within) and facts.instruction[id].around[each.iname]
          and facts.trips[each.iname] ~= 1 then
        found, often = found or each.par, true
      end
    end
    if often and not found then return false end
    any = any or found
  end
  return any
end

-- Makes the waves of a loop the outer one, with each statement in loops of its own where that makes
-- loops parallel. Gives the script, what is known of the loops in a wave then, and its name; nothing
-- where some instruction has no parallel loop in any waves. `first`: a direction to look at before
-- those of isl's schedule.
function Wave.make(script, facts, loop, params, first)
  local wave = loop.iname .. "_wave"
  local why = ("each loop carries something, but nothing leads from one instance to another of the same "
    .. "`%s`"):format(wave)
  local function take(along)
    local trial = script:fork()
    if not trial:try(why, "skewed_tiles", loop.iname, along, 1, {tile_iname = wave})
        or not trial:try(why, "prioritize_loops", {wave, table.unpack(facts:chain(loop))}) then
      return nil
    end
    local inside = Facts.of(trial.knl, params, wave)
    if not inside.loop[loop.iname].par and #loop.ids > 1
        and trial:try("in a wave, one statement after the other", "distribute_loops", loop.iname) then
      inside = Facts.of(trial.knl, params, wave)
    end
    if Wave.run_at_once(inside, loop.ids, wave) then return trial, inside, wave end
  end
  if first then
    local trial, inside = take(first)
    if trial then return trial, inside, wave end
  end
  for _, along in ipairs(directions(script, facts, loop)) do
    local trial, inside = take(along)
    if trial then return trial, inside, wave end
  end
end

return Wave
