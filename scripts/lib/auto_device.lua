-- Schedules for devices: parallel loops become groups and work-items, neighbours along memory; what
-- work-items of a group share goes through local memory. For moonloop.auto alone.
local Facts = require "moonloop.auto_facts"
local Cpu = require "moonloop.auto_cpu"

local Device = setmetatable({}, {__index = Cpu})
Device.__index = Device

-- `options` as for processors.
function Device.schedule(script, options)
  local self = setmetatable({
    script = script,
    params = options.params,
    accepts = options.accepts,
    totals = {},  -- loops of reductions outside of parallel loops
  }, Device)
  self:look()
  self:take_scans{
    blocks = function() return true end, only_blocks = true,
    size = 128, tag = "g.0",
  }
  for _, iname in ipairs(self.facts.inside[""] or {}) do self:nest(iname) end
  self:share_totals()
  return self.script
end

-- Loops over time stay on the host.
function Device:tiles_in_time() return false end

-- A reduction outside of all parallel loops is shared once all else has its place.
function Device:total(loop) self.totals[#self.totals + 1] = loop.iname end

-- Takes steps that share reductions along the loops; gives whether there is code for the result.
function Device:share(totals)
  local own = self.script
  self.script = own:fork()
  local done = true
  for _, iname in ipairs(totals) do
    local why = ("work-items share the terms along `%s`"):format(iname)
    done = done and self.script:try(why, "tag_inames", {[iname] = "par"})
  end
  if done then
    local size = self.script:knob("group", {64, 128, 256}, 128)
    done = self.script:try("groups add up parts, and one group adds up these", "work_items",
                           {size = size})
  end
  if done and (not self.accepts or self.accepts(self.script.knl)) then return true end
  self.script = own
  return false
end

-- All of them at once, or else those with which it works.
function Device:share_totals()
  if #self.totals == 0 or self:share(self.totals) then return end
  for _, iname in ipairs(self.totals) do self:share{iname} end
end

function Device:ways(loop)
  local facts = self.facts
  local nest = {loop = loop, chain = facts:chain(loop), deep = facts:deepest(loop)}
  nest.rest = facts:rest(loop, nest.chain)
  local parallel, best = {}, nil
  for _, iname in ipairs(nest.chain) do
    if facts.loop[iname].par then
      parallel[#parallel + 1] = iname
      local cost = 0
      for _, access in ipairs(nest.deep) do
        local s = Facts.stride(access, iname)
        cost = cost + (s == 0 and 1 or s == 1 and 2 or 8)
      end
      if not best or cost <= best.cost then best = {iname = iname, cost = cost} end
    end
  end
  local out = {}
  if best then
    local blocked = self:block_of(nest, parallel, best.iname)
    if blocked then
      out[#out + 1] = {take = function() return self:make_blocks(nest, blocked) end}
    end
    out[#out + 1] = {take = function() return self:make_grid(nest, parallel, best.iname) end}
  end
  out[#out + 1] = {take = function() return self:keep(nest) end}
  return out
end

-- Loops in it are looked at one by one, on the host.
function Device:keep(nest)
  local last = nest.chain[#nest.chain]
  local any = false
  for _, each in ipairs(self.facts.inside[last] or {}) do
    any = true
    if self.facts.reduced[each] then
      self:total(self.facts.loop[each])
    else
      self:nest(each)
    end
  end
  if any then
    self:note_what_stays(nest)
  else
    self.script:note(Cpu.why_in_order(self.facts.loop[last]))
  end
  return true
end

-- The largest of `sizes` that is no longer than the loop, where its length is known.
function Device:fitting(iname, sizes, size)
  local trips = self.facts.trips[iname]
  while trips and size > sizes[1] and size // 2 >= trips do size = size // 2 end
  return size
end

-- `v` is along memory: neighbouring work-items.
function Device:make_grid(nest, parallel, v)
  local script = self.script
  local outside, inside, started = {}, {}, false
  for _, each in ipairs(nest.chain) do
    local is_parallel = Facts.contains(parallel, each)
    started = started or is_parallel
    if not is_parallel then table.insert(started and inside or outside, each) end
  end
  local order = {table.unpack(outside)}
  for _, each in ipairs(Facts.without(parallel, v)) do order[#order + 1] = each end
  order[#order + 1] = v
  table.move(inside, 1, #inside, #order + 1, order)
  if table.concat(order, ",") ~= table.concat(nest.chain, ",") then
    local why = ("neighbours along `%s` access neighbouring memory"):format(v)
    if not script:try(why, "prioritize_loops", order) then
      if #inside > 0 then return false end
    end
  end
  local sizes = {32, 64, 128, 256}
  local rest = Facts.without(parallel, v)
  local size = script:knob(v .. "_items", sizes, self:fitting(v, sizes, #rest > 0 and 64 or 128))
  local why = ("a grid of work-items: neighbours along `%s`"):format(v)
  local tags = {outer_tag = "g.0", inner_tag = "l.0"}
  if not self:split(why, v, size, tags) then return false end
  for axis = 1, math.min(2, #rest) do
    local u = rest[#rest + 1 - axis]
    if axis == 1 then
      local rows = {1, 2, 4, 8}
      local count = script:knob(u .. "_items", rows, self:fitting(u, rows, 4))
      if not self:split(why, u, count, {outer_tag = "g.1", inner_tag = "l.1"}) then return false end
    elseif not script:try(why, "tag_inames", {[u] = "g.2"}) then
      return false
    end
  end
  return true
end

-- Whether a block of results, along `u` and `v`, shares what it reads along a reduction: the loops
-- and the arrays, with those along which each is shared.
function Device:block_of(nest, parallel, v)
  if #nest.loop.ids ~= 1 then return nil end
  local r
  for _, each in ipairs(nest.rest) do
    if not self.facts.reduced[each] or r then return nil end
    r = each
  end
  if not r then return nil end
  for _, u in ipairs(Facts.without(parallel, v)) do
    local arrays, of_u, of_v = {}, false, false
    for _, access in ipairs(nest.deep) do
      local along_u, along_v = Facts.stride(access, u), Facts.stride(access, v)
      if access.write or Facts.stride(access, r) == 0 or arrays[access.variable] then
        if not access.write and arrays[access.variable] then return nil end
      elseif along_u ~= 0 and along_v == 0 then
        arrays[access.variable], of_u = "u", true
      elseif along_v ~= 0 and along_u == 0 then
        arrays[access.variable], of_v = "v", true
      end
    end
    if of_u and of_v then return {u = u, v = v, r = r, arrays = arrays, around = parallel} end
  end
  return nil
end

function Device:make_blocks(nest, block)
  local script, u, v, r = self.script, block.u, block.v, block.r
  local order = {}
  for _, each in ipairs(nest.chain) do
    if each ~= u and each ~= v then order[#order + 1] = each end
  end
  local parts = {u = {}, v = {}}
  local why = ("a group computes a block along `%s` and `%s`, each work-item several elements of it")
    :format(u, v)
  for axis, iname in ipairs{v, u} do
    local key = iname == u and "u" or "v"
    local items, registers = 16, 4
    local copies = script:knob(iname .. "_copies", {1, 2, 4, 8}, registers)
    local size = script:knob(iname .. "_items", {8, 16, 32}, items)
    local inner, part, item = iname .. "_inner", iname .. "_part", iname .. "_item"
    local number = tostring(axis - 1)
    -- Copies that are a row of work-items apart, so that neighbours stay neighbours.
    if not script:try(why, "split_iname", iname, size,
                      {outer_iname = inner, inner_iname = item, inner_tag = "l." .. number}) then
      return false
    end
    if not script:try(why, "split_iname", inner, copies,
                      {outer_iname = iname .. "_block", inner_iname = part,
                       outer_tag = "g." .. number, inner_tag = "ilp", slabs = {0, 1}}) then
      return false
    end
    parts[key] = {part, item}
  end
  local third = Facts.without(Facts.without(block.around, u), v)
  if #third > 0 then
    if not script:try(why, "tag_inames", {[third[#third]] = "g.2"}) then return false end
  end
  local steps = script:knob(r .. "_steps", {8, 16, 32}, 16)
  local walk = ("the group fetches what it needs for some `%s` at a time into local memory"):format(r)
  local step = r .. "_step"
  if not script:try(walk, "split_iname", r, steps,
                    {outer_iname = r .. "_block", inner_iname = step, inner_tag = "unr"}) then
    return false
  end
  local names = {}
  for name in pairs(block.arrays) do names[#names + 1] = name end
  table.sort(names)
  for _, name in ipairs(names) do
    local along = parts[block.arrays[name]]
    if not script:try(walk, "add_prefetch", name, {along[1], along[2], step},
                      {default_tag = "l.auto"}) then
      return false
    end
  end
  return true
end

return Device
