-- Waves: instances of a loop and the loops in it for which some sum of their numbers is equal run at
-- once, where every single loop carries something. For moonloop.auto alone.
local lp = require "moonloop"
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

-- For each instruction what is equal in a wave: the sum of the band's members that order its loops.
local function direction(script, facts, loop)
  local ok, schedule = pcall(lp.affine_schedule, script.knl, loop.iname)
  local band = ok and band_of(schedule, loop.ids)
  if not band then return nil end
  local depth = 0
  for _, id in ipairs(loop.ids) do
    local count = 0
    for _, each in ipairs(facts.loops) do
      local is_in = each == loop or Facts.contains(each.around, loop.iname)
      if is_in and facts.instruction[id].around[each.iname] then count = count + 1 end
    end
    depth = math.max(depth, count)
  end
  if depth < 2 or #band.members < depth then return nil end
  local out = {}
  for _, id in ipairs(loop.ids) do
    local sum = {}
    for m = 1, depth do
      sum = sum and add(sum, band.members[m].values[id], 1)
    end
    if not sum then return nil end
    out[id] = text_of(sum)
  end
  return out
end

-- Makes the waves the outer loop, and gives its name; nothing where there are none.
return function(script, facts, loop)
  local along = direction(script, facts, loop)
  if not along then return nil end
  local wave = loop.iname .. "_wave"
  local why = ("each loop carries something, but nothing leads from one instance to another of the same "
    .. "`%s`"):format(wave)
  if script:try(why, "skewed_tiles", loop.iname, along, 1, {tile_iname = wave})
      and script:try(why, "prioritize_loops", {wave, loop.iname}) then
    return wave
  end
end
