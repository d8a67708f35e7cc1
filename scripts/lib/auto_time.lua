-- Sweeps over space, one after the other: tiles of them that stay in the cache for several steps of
-- the loop over time, as isl's schedule of the dependences says. For moonloop.auto alone.
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

-- The loops around each instruction within the loop, outer to inner. Nothing where one of them has an
-- order, since it is not the memory then that a sweep waits for; unless `any`, and all instructions have
-- as many loops.
local function space_of(facts, loop, any)
  local out, in_order, same = {}, false, true
  for _, id in ipairs(loop.ids) do
    out[id] = {}
    for _, each in ipairs(facts.loops) do
      if Facts.contains(each.around, loop.iname) and facts.instruction[id].around[each.iname] then
        in_order = in_order or not each.par
        table.insert(out[id], each.iname)
      end
    end
    same = same and #out[id] == #out[loop.ids[1]]
  end
  return (not in_order or any and same) and out or nil
end

-- The members of isl's outermost band within the loop that go along space, one for each of the
-- outer loops of most instructions; none unless the first member is the loop itself.
local function directions(script, loop, depth)
  local schedule = Facts.schedule(script.knl, loop.iname)
  if not schedule or schedule.kind ~= "band" or not schedule.permutable then return {} end
  for _, id in ipairs(loop.ids) do
    if schedule.members[1].values[id] ~= loop.iname then return {} end
  end
  local out = {}
  for m = 2, math.min(#schedule.members, depth) do
    local of = {}  -- the schedule has statements of reductions, too
    for _, id in ipairs(loop.ids) do of[id] = schedule.members[m].values[id] end
    out[#out + 1] = of
  end
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

-- Threads share the tiles of waves: where the sum of the numbers in the outer two loops over tiles is
-- equal, none depends on another one, since no dependence leads back along any of these loops.
local function share_waves(own, ids, order, loop)
  local script, wave, along = own:fork(), loop.iname .. "_wave", {}
  for _, id in ipairs(ids) do along[id] = order[1] .. " + " .. order[2] end
  local why = ("tiles of the same `%s` run at once"):format(wave)
  if script:try(why, "skewed_tiles", order[1], along, 1, {tile_iname = wave})
      and script:try(why, "prioritize_loops", {wave, table.unpack(order)})
      and script:try(("threads share `%s`"):format(order[1]), "tag_inames", {[order[1]] = "par"}) then
    return script
  end
end

-- Cuts the loop's sweeps into tiles; gives the script with that, the loop inside of a tile, and
-- whether threads share the tiles, which they do if `threads`, where that is legal.
return function(script, facts, loop, threads)
  if loop.par or not sweeps(facts, loop) then return nil end
  local space, depth = space_of(facts, loop, threads), 0
  if not space then return nil end
  for _, id in ipairs(loop.ids) do depth = math.max(depth, #space[id]) end
  if depth < 2 then return nil end
  local whole = bytes_of(facts, loop, space, 0)
  if whole and whole < kFirst then return nil end
  local along = directions(script, loop, depth)
  if #along == 0 then return nil end
  local steps, length = lengths(facts, loop, space, along)
  local t = loop.iname
  local why = ("tiles of space stay in the cache for several `%s`; they move so that no dependence "
    .. "leads back"):format(t)
  local tiles = {}
  for n, direction in ipairs(along) do
    local name = t .. "_tile" .. (n > 1 and n or "")
    local size = script:knob(name .. "_size", {8, 16, 32, 64, 128}, length)
    if not script:try(why, "skewed_tiles", t, direction, size, {tile_iname = name}) then
      return nil
    end
    table.insert(tiles, name)
  end
  local count = script:knob(t .. "_steps", {4, 8, 16, 32, 64}, steps)
  local outer, inner = t .. "_block", t .. "_step"
  if not script:try(why, "split_iname", t, count, {outer_iname = outer, inner_iname = inner}) then
    return nil
  end
  local order = {outer, table.unpack(tiles)}
  order[#order + 1] = inner
  if not script:try(why, "prioritize_loops", order) then return nil end
  local waves = threads and share_waves(script, loop.ids, order, loop)
  if not waves and not space_of(facts, loop) then return nil end
  return waves or script, inner, waves ~= nil
end
