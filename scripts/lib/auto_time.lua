-- Sweeps over space, one after the other: tiles of them that stay in the cache for several steps of
-- the loop over time, as isl's schedule of the dependences says. For moonloop.auto alone.
local lp = require "moonloop"
local Facts = require "moonloop.auto_facts"

local kCache = 1 << 20  -- bytes that a tile may need
local kFirst = 1 << 17  -- what fits here anyway needs no tiles

-- Whether all that stands in the loop sweeps over the same elements in each iteration.
local function sweeps(facts, loop)
  local same, all = 0, 0
  for _, id in ipairs(loop.ids) do
    for _, access in ipairs(facts.accesses[id]) do
      all = all + 1
      if Facts.stride(access, loop.iname) == 0 then same = same + 1 end
    end
  end
  return 2*same > all
end

-- The loops around each instruction within the loop, outer to inner; nothing where one of them has
-- an order: then it is not the memory that a sweep waits for.
local function space_of(facts, loop)
  local out = {}
  for _, id in ipairs(loop.ids) do
    out[id] = {}
    for _, each in ipairs(facts.loops) do
      if Facts.contains(each.around, loop.iname) and facts.instruction[id].around[each.iname] then
        if not each.par then return nil end
        table.insert(out[id], each.iname)
      end
    end
  end
  return out
end

-- The members of isl's outermost band within the loop that go along space, one for each of the
-- outer loops of most instructions; none unless the first member is the loop itself.
local function directions(script, loop, depth)
  local ok, schedule = pcall(lp.affine_schedule, script.knl, loop.iname)
  if not ok or schedule.kind ~= "band" or not schedule.permutable then return {} end
  for _, id in ipairs(loop.ids) do
    if schedule.members[1].values[id] ~= loop.iname then return {} end
  end
  local out = {}
  for m = 2, math.min(#schedule.members, depth) do out[#out + 1] = schedule.members[m].values end
  return out
end

-- How many bytes one step of the outer `taken` loops of space touches, where the lengths are known.
local function bytes_of(facts, loop, space, taken)
  local arrays, total = {}, 0
  for _, id in ipairs(loop.ids) do
    for _, access in ipairs(facts.accesses[id]) do
      local bytes = access.size
      for n, iname in ipairs(space[id]) do
        if n > taken and Facts.stride(access, iname) ~= 0 then
          if not facts.trips[iname] then return nil end
          bytes = bytes*facts.trips[iname]
        end
      end
      arrays[access.variable] = math.max(arrays[access.variable] or 0, bytes)
    end
  end
  for _, bytes in pairs(arrays) do total = total + bytes end
  return total
end

-- How far a tile moves in each step: the factor of the loop in the direction.
local function skew_of(direction, iname)
  local most = 1
  for _, text in pairs(direction) do
    local factor = tonumber(text:match("(%d+)%*" .. iname .. "%f[%W]") or 1)
    most = math.max(most, factor)
  end
  return most
end

-- The largest lengths of tiles that stay in the cache: steps, and iterations of each direction.
local function lengths(facts, loop, space, along)
  local row = bytes_of(facts, loop, space, #along)
  if not row then return 16, 32 end
  local skew = 1
  for _, direction in ipairs(along) do skew = math.max(skew, skew_of(direction, loop.iname)) end
  for _, steps in ipairs{16, 8, 4} do
    local most = math.floor((kCache/row)^(1/#along)) - skew*steps
    if most >= 2*steps then
      local length = 8
      while 2*length <= math.min(most, 128) do length = 2*length end
      return steps, length
    end
  end
  return 4, 8
end

-- Cuts the loop's sweeps into tiles; gives whether that was done, and the loop inside of a tile.
return function(script, facts, loop)
  if loop.par or not sweeps(facts, loop) then return false end
  local space, depth = space_of(facts, loop), 0
  if not space then return false end
  for _, id in ipairs(loop.ids) do depth = math.max(depth, #space[id]) end
  if depth < 2 then return false end
  local whole = bytes_of(facts, loop, space, 0)
  if whole and whole < kFirst then return false end
  local along = directions(script, loop, depth)
  if #along == 0 then return false end
  local steps, length = lengths(facts, loop, space, along)
  local t = loop.iname
  local why = ("tiles of space stay in the cache for several `%s`; they move so that no dependence "
    .. "leads back"):format(t)
  local tiles = {}
  for n, direction in ipairs(along) do
    local name = t .. "_tile" .. (n > 1 and n or "")
    local size = script:knob(name .. "_size", {8, 16, 32, 64, 128}, length)
    if not script:try(why, "skewed_tiles", t, direction, size, {tile_iname = name}) then
      return false
    end
    table.insert(tiles, name)
  end
  local count = script:knob(t .. "_steps", {4, 8, 16, 32, 64}, steps)
  local outer, inner = t .. "_block", t .. "_step"
  if not script:try(why, "split_iname", t, count, {outer_iname = outer, inner_iname = inner}) then
    return false
  end
  local order = {outer, table.unpack(tiles)}
  order[#order + 1] = inner
  if not script:try(why, "prioritize_loops", order) then return false end
  return true, inner
end
