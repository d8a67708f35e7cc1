-- What form a reduction has: its loops, which of them is along memory, how many results and terms
-- there are, and how work-items of a device share these.
local Shape = {}

local kGroups = 1024         -- that keep a large device busy
local kManyResults = 1 << 14 -- of which a warp each does
local kTerms = 8             -- of a work-item, below which further groups are no help
Shape.kWarp = 32

-- The iteration counts of all of the loops together, 0 if one never runs; nothing where that is not known.
local function product(trips, inames)
  local out = 1
  for _, each in ipairs(inames) do
    if not trips[each] then return nil end
    out = out*trips[each]
  end
  return out
end

local function contains(list, name)
  for _, each in ipairs(list) do
    if each == name then return true end
  end
  return false
end

-- The reads that are made most often.
local function deepest_reads(knl, insns, params)
  local deepest, reads, is_one = 0, {}, {}
  for _, each in ipairs(insns) do is_one[each.id] = true end
  for _, access in ipairs(knl:accesses(params)) do
    if is_one[access.statement] and not access.write then
      if #access.inames > deepest then deepest, reads = #access.inames, {} end
      if #access.inames == deepest then reads[#reads + 1] = access end
    end
  end
  return reads
end

-- The loop, of those around and in the sums, along which neighbouring iterations read neighbouring
-- memory: where that is so for most of the reads.
local function along_memory(insns, reads)
  local best, least
  for _, list in ipairs{insns[1].inames, insns[1].reduction_inames} do
    for _, iname in ipairs(list) do
      local cost = 0
      for _, access in ipairs(reads) do
        local stride = access.strides[iname]
        cost = cost + (stride == nil and 1 or (stride == 1 or stride == -1) and 2 or 8)
      end
      if not least or cost <= least then best, least = iname, cost end
    end
  end
  return best
end

-- Orders loops by how far apart their neighbouring iterations read: the farthest first, where that is
-- known, else as they come.
local function far_first(inames, reads)
  local far, at = {}, {}
  for n, iname in ipairs(inames) do
    at[iname], far[iname] = n, 0
    for _, access in ipairs(reads) do
      local stride = access.strides[iname] or 0
      if type(stride) ~= "number" then return end
      far[iname] = math.max(far[iname], math.abs(stride))
    end
  end
  table.sort(inames, function(a, b)
    if far[a] ~= far[b] then return far[a] > far[b] end
    return at[a] < at[b]
  end)
end

-- The least power of two that is no less than `n`, between two others.
function Shape.power(n, least, most)
  local out = least
  while out < most and out < n do out = 2*out end
  return out
end

-- Of the reduced loops but the one along memory, the first from one end that has `enough` iterations,
-- or else the longest.
local function long_one(s, first, last, enough)
  local best
  for n = first, last, first <= last and 1 or -1 do
    local trips = s.trips[s.others[n]] or math.huge
    if trips >= enough then return s.others[n] end
    if not best or trips > s.trips[best] then best = s.others[n] end
  end
  return best
end

-- By iname, how often it runs at most, if that is known: found out when it is asked for.
local function trips_of(knl, params)
  return setmetatable({}, {__index = function(trips, iname)
    if not iname then return nil end
    local most = knl:trips(params, iname)
    rawset(trips, iname, most or false)
    return most
  end})
end

-- The shape of instructions that have all loops in common, for these sizes. `apart`: a loop around
-- them that groups share anyway. `near`: the reduced loop, but the one along memory, that work-items share.
function Shape.of(knl, insns, params, apart)
  local reads = deepest_reads(knl, insns, params)
  local out = {kept = {}, reduced = insns[1].reduction_inames, trips = trips_of(knl, params),
               lane = along_memory(insns, reads), others = {}}
  for _, each in ipairs(insns[1].inames) do
    if each ~= apart then out.kept[#out.kept + 1] = each end
  end
  for _, each in ipairs(out.reduced) do
    if each ~= out.lane then out.others[#out.others + 1] = each end
  end
  out.by_rows = contains(out.reduced, out.lane)  -- terms are along memory, else results are
  out.results, out.terms = product(out.trips, out.kept), product(out.trips, out.reduced)
  far_first(out.others, reads)
  out.near = long_one(out, #out.others, 1, Shape.kWarp)
  return out
end

-- How many groups there are, where each has one result or, along memory, a warp's width of them.
function Shape.groups(s)
  if not s.results or s.by_rows then return s.results end
  local length = math.max(1, s.trips[s.lane])
  return s.results // length*((length + Shape.kWarp - 1) // Shape.kWarp)
end

-- How groups of `size` work-items share it best.
function Shape.strategy(s, size)
  if #s.kept == 0 then return "two_stage" end
  local groups = Shape.groups(s)
  if not groups then return "group" end
  if s.by_rows and s.results >= kManyResults then return "warp" end
  local few = groups < kGroups // 4 and (not s.terms or s.terms >= 2*kTerms*size)
  return few and "two_stage" or "group"
end

-- With two stages, the loop that groups share, the outermost one in memory that has iterations for
-- them, and how many of these a group of `size` work-items has.
function Shape.chunk(s, size)
  local groups = Shape.groups(s)
  if not groups or not s.terms then
    return long_one(s, 1, #s.others, math.huge) or s.lane, kTerms*size
  end
  local sharing = s.by_rows and size or math.max(1, size // Shape.kWarp)  -- work-items a result
  local apart = math.max(1, math.min(kGroups // math.max(1, groups), s.terms // (kTerms*sharing)))
  local r = long_one(s, 1, #s.others, apart/2) or s.lane
  local chunk = math.max(1, (s.trips[r] + apart - 1) // apart)
  return r, r == s.lane and (chunk + size - 1) // size*size or chunk
end

return Shape
