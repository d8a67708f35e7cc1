-- Schedules for processors: loops along memory innermost, lanes of vectors, blocks of results in
-- registers, threads. For moonloop.auto alone.
local Facts = require "moonloop.auto_facts"
local cut_time = require "moonloop.auto_time"
local with_scans = require "moonloop.auto_scan"

local Cpu = {}
Cpu.__index = Cpu

-- Gives the script with the steps. `options`: `threads`, whether there are some; `gangs`, whether
-- lanes run all that is in their iterations; `vector`, bytes of a vector register; `params`; `accepts(knl)`, if given, says whether there is code for a kernel.
function Cpu.schedule(script, options)
  local self = setmetatable({
    script = script,
    threads = options.threads,
    gangs = options.gangs,
    vector = options.vector or 32,
    accepts = options.accepts,
    params = options.params,
  }, Cpu)
  self:look()
  self:take_scans{
    blocks = function(iname) return self.threads and self:is_worth_threads(iname) end,
    size = 1024, tag = "par",
  }
  for _, iname in ipairs(self.facts.inside[""] or {}) do self:nest(iname) end
  return self.script
end

-- Prefix sums and their kin, as `how` of moonloop.auto_scan says.
function Cpu:take_scans(how)
  how.params, how.accepts = self.params, self.accepts
  local own = self.script
  self.script, self.done = with_scans(own, self.facts, how)
  if self.script ~= own then self:look() end
end

-- Looks at the kernel again: steps changed loops that are still to be looked at.
function Cpu:look() self.facts = Facts.of(self.script.knl, self.params) end

-- ---- Costs ----------------------------------------------------------------------------------------

-- In units of a load of one element that stands in the first cache. `lanes`: the loop that vectors
-- are along, if any; `fast`: the loop whose iterations follow each other.
local function cost_of_access(access, lanes, fast)
  local along = Facts.stride(access, fast)
  if not lanes then return along == 0 and 0.1 or along == 1 and 1 or 3 end
  local across = Facts.stride(access, lanes)
  if across == 0 then return 0.2 end
  local new_line = fast ~= lanes and along == "far"
  if across == 1 then return new_line and 0.45 or 0.25 end
  return fast ~= lanes and not new_line and 1 or 2
end

-- `fast_of(access)`: see above. The arithmetic counts as much as the accesses.
local function cost_of(accesses, lanes, fast_of)
  local out = (lanes and 0.25 or 1) * #accesses
  for _, access in ipairs(accesses) do out = out + cost_of_access(access, lanes, fast_of(access)) end
  return out
end

-- Of an access, the last of the loops around it in that order.
local function last_of(order)
  return function(access)
    for i = #order, 1, -1 do
      if Facts.contains(access.inames, order[i]) then return order[i] end
    end
  end
end

-- ---- Nests ----------------------------------------------------------------------------------------

-- Schedules what is in the loop, in the cheapest way that is legal.
function Cpu:nest(iname)
  if self.done[iname] then return end
  local loop = self.facts.loop[iname]
  if self.facts.reduced[iname] then return self:total(loop) end
  if self:tiles_in_time(loop) then return end
  if #loop.ids > 1 and self:distribute(loop) then return end
  for _, way in ipairs(self:ways(loop)) do
    if self:attempt(way.take) then return end
  end
end

-- Takes the steps of `way` if it gives true, and there is code for the result.
function Cpu:attempt(way)
  local own, facts = self.script, self.facts
  self.script = own:fork()
  if way() and (not self.accepts or self.accepts(self.script.knl)) then return true end
  self.script, self.facts = own, facts
  return false
end

-- A loop of which nothing is known to run at once, in what stands in it.
function Cpu.why_in_order(loop)
  return ("`%s` stays in order: %s"):format(loop.iname, loop.why or "nothing in it can run at once")
end

function Cpu:tiles_in_time(loop)
  local trial = self.script:fork()
  local done, step = cut_time(trial, self.facts, loop)
  if not done or self.accepts and not self.accepts(trial.knl) then return false end
  self.script = trial
  local facts = self.facts
  self.facts = Facts.of(trial.knl, self.params, step)
  for _, each in ipairs(self.facts.inside[step] or {}) do self:nest(each) end
  self.facts = facts
  return true
end

-- Gives the statements of a loop loops of their own, unless they have all loops in common.
function Cpu:distribute(loop)
  local first
  local same = true
  for _, id in ipairs(loop.ids) do
    local each = self.facts.instruction[id]
    local loops = table.concat(each.inames, ",")
    first = first or loops
    same = same and loops == first and #each.reduction_inames == 0
  end
  if same then return false end
  local trial = self.script:fork()
  local why = ("each statement in `%s` gets the order that suits it"):format(loop.iname)
  if not trial:try(why, "distribute_loops", loop.iname) then return false end
  if #trial.knl.inames == #self.script.knl.inames then return false end
  self.script = trial
  self:look()
  local parts = {}
  for _, each in ipairs(self.facts.inside[loop.around[#loop.around] or ""]) do
    if loop.has[self.facts.loop[each].ids[1]] then parts[#parts + 1] = each end
  end
  for _, part in ipairs(parts) do self:nest(part) end
  return true
end

-- The ways to run a loop, `{cost, take}`, the cheapest one first.
function Cpu:ways(loop)
  local facts = self.facts
  local nest = {loop = loop, chain = facts:chain(loop), deep = facts:deepest(loop)}
  nest.rest = facts:rest(loop, nest.chain)
  local order = {table.unpack(nest.chain)}
  table.move(nest.rest, 1, #nest.rest, #order + 1, order)
  local last = last_of(order)
  local out = {}
  local function add(cost, take)
    out[#out + 1] = {cost = cost + 0.0001*#out, take = function() return take(self, nest) end}
  end
  add(self:cost_as_it_is(nest, last), Cpu.keep)
  for n, v in ipairs(nest.chain) do
    if facts.loop[v].par then
      local further_out = #nest.chain - n
      if #nest.rest == 0 then
        add(cost_of(nest.deep, v, function() return v end) + 0.001*further_out,
            function() return self:make_innermost(nest, v) end)
      end
      if #nest.rest > 0 or further_out > 0 then
        add(cost_of(nest.deep, v, last) + 0.01*further_out,
            function() return self:make_lanes(nest, v) end)
      end
    end
  end
  if #loop.ids == 1 then
    for _, r in ipairs(nest.rest) do
      if facts.reduced[r] then
        add(cost_of(nest.deep, r, function() return r end) + 0.05,
            function() return self:reduce_in_lanes(nest, r) end)
      end
    end
  end
  table.sort(out, function(a, b) return a.cost < b.cost end)
  return out
end

-- The loops right in the chain that are not of reductions.
function Cpu:parts(nest)
  local out = {}
  for _, each in ipairs(self.facts.inside[nest.chain[#nest.chain]] or {}) do
    if not self.facts.reduced[each] then out[#out + 1] = each end
  end
  return out
end

function Cpu:cost_as_it_is(nest, last)
  local parts, all = self:parts(nest), 0
  for _, part in ipairs(parts) do all = all + self:ways(self.facts.loop[part])[1].cost end
  if #parts > 0 then return all/#parts end
  -- Each term of a reduction waits for the one before.
  return cost_of(nest.deep, nil, last) + (#nest.rest > 0 and 3 or 0)
end

-- ---- Ways to run one ------------------------------------------------------------------------------

-- What the order of its loops is not known by, or is Fortran's or another language's.
function Cpu:note_what_stays(nest)
  for _, iname in ipairs(nest.chain) do
    local loop = self.facts.loop[iname]
    if not loop.par and (loop.code == "not-proved" or loop.variable == "outside") then
      self.script:note(Cpu.why_in_order(loop))
    end
  end
end

-- Its loops stay, but for those in it.
function Cpu:keep(nest)
  local threads = self.threads
  if self:spread(nest.chain, {}) then self.threads = false end
  local parts = self:parts(nest)
  if #parts == 0 and self:cut_where_it_depends(nest) then
    self.threads = threads
    return true
  end
  if #parts == 0 and not self.facts.loop[nest.chain[#nest.chain]].par then
    self.script:note(Cpu.why_in_order(self.facts.loop[nest.chain[#nest.chain]]))
  else
    self:note_what_stays(nest)
  end
  for _, part in ipairs(parts) do self:nest(part) end
  self.threads = threads
  return true
end

-- Values of the innermost loop at which some iteration may be what the others depend on: subscripts
-- of what is written that stand where the loop does elsewhere.
function Cpu:places(id, v)
  local out, known = {}, {}
  for _, a in ipairs(self.facts.accesses[id]) do
    for _, b in ipairs(self.facts.accesses[id]) do
      if a.write and a.variable == b.variable then
        for axis, index in ipairs(a.index) do
          local place = b.index[axis]
          if index == v and self.facts.instruction[id].around[place] and place ~= v
              and not known[place] then
            known[place] = true
            out[#out + 1] = place
          end
        end
      end
    end
  end
  return out
end

-- Cuts the loop before and behind an iteration; gives the names of all three parts, or false.
function Cpu:cut_at(v, place)
  local why = ("only the iteration `%s = %s` depends on others, or they on it"):format(v, place)
  local rest, at, behind = self:fresh(v .. "_rest"), self:fresh(v .. "_at"), self:fresh(v .. "_after")
  if self.script:try(why, "split_at", v, place, {from_iname = rest})
      and self.script:try(why, "split_at", rest, place .. " + 1",
                          {before_iname = at, from_iname = behind}) then
    return {v, at, behind}
  end
  return false
end

-- A name that no loop has.
function Cpu:fresh(name)
  local out, n = name, 1
  while Facts.contains(self.script.knl.inames, out) do
    out, n = name .. "_" .. n, n + 1
  end
  return out
end

-- Cuts the innermost loop before and behind an iteration, so that the others run in vectors.
function Cpu:cut_where_it_depends(nest)
  local v, ids = nest.chain[#nest.chain], nest.loop.ids
  if #nest.rest > 0 or #ids > 1 or self.facts.loop[v].par then return false end
  local own = self.script
  for _, place in ipairs(self:places(ids[1], v)) do
    self.script = own:fork()
    local parts = self:cut_at(v, place)
    if parts
        and self.script:try(("vectors along the rest of `%s`"):format(v), "tag_inames",
                            {[v] = "simd", [parts[3]] = "simd"})
        and (not self.accepts or self.accepts(self.script.knl)) then
      return true
    end
    self.script = own
  end
  return false
end

local kUnknown = 1000     -- iterations of a loop of unknown length
local kRegion = 20000     -- iterations for which it pays that threads start and wait

-- Whether threads have enough to do in the loop, which begins anew in each iteration of loops in order.
function Cpu:is_worth_threads(iname)
  local facts, again = self.facts, false
  local work = facts.trips[iname] or kUnknown
  for _, each in ipairs(facts.loop[iname].around) do
    again = again or not facts:is_parallel(each)
  end
  if not again then return true end
  local most = 1
  for _, id in ipairs(facts.loop[iname].ids) do
    local own = 1
    for _, each in ipairs(facts.loops) do
      local insn = facts.instruction[id]
      local is_around = insn.around[each.iname] or Facts.contains(insn.reduction_inames, each.iname)
      if is_around and Facts.contains(each.around, iname) then
        own = own*(facts.trips[each.iname] or kUnknown)
      end
    end
    most = math.max(most, own)
  end
  return work*most >= kRegion
end

-- Threads share the first parallel loop; `names` has what became of those that were split.
function Cpu:spread(loops, names)
  if not self.threads then return false end
  for _, iname in ipairs(loops) do
    if self.facts.loop[iname].par then
      if not self:is_worth_threads(iname) then return false end
      local now = names[iname] or iname
      return self.script:try(("threads share `%s`"):format(now), "tag_inames", {[now] = "par"})
    end
  end
  return false
end

-- Splits a loop; gives the name of the outer part, or nil if that is refused.
function Cpu:split(why, iname, length, options)
  local known = {}
  for _, each in ipairs(self.script.knl.inames) do known[each] = true end
  if not self.script:try(why, "split_iname", iname, length, options) then return nil end
  for _, each in ipairs(self.script.knl.inames) do
    if not known[each] then return each end
  end
end

-- The loop `v` of statements without loops of their own becomes the innermost one, for vectors.
function Cpu:make_innermost(nest, v)
  local script, outside = self.script, Facts.without(nest.chain, v)
  if nest.chain[#nest.chain] ~= v then
    local why = ("`%s` steps through memory: innermost"):format(v)
    local order = {table.unpack(outside)}
    order[#order + 1] = v
    if not script:try(why, "prioritize_loops", order) then return false end
  end
  if self.threads and #outside == 0 and self:is_worth_threads(v) then
    local chunk = script:knob(v .. "_chunk", {256, 1024, 4096}, 1024)
    local why = ("threads share chunks of `%s`, each with vectors"):format(v)
    local outer = self:split(why, v, chunk, {inner_tag = "simd"})
    if not outer then return false end
    self:spread({v}, {[v] = outer})
    return true
  end
  if not script:try(("vectors along `%s`"):format(v), "tag_inames", {[v] = "simd"}) then
    return false
  end
  self:spread(outside, {})
  return true
end

-- Whether iterations of `u` share what is loaded along `v`.
local function is_reused(accesses, u, v)
  local shared, own = false, false
  for _, access in ipairs(accesses) do
    if Facts.stride(access, u) ~= 0 then
      own = true
    elseif Facts.stride(access, v) == 1 and not access.write then
      shared = true
    end
  end
  return shared and own
end

-- Whether what is loaded along `v` comes from another row of memory each time.
function Cpu:walks_down(nest, v)
  for _, r in ipairs(nest.rest) do
    for _, access in ipairs(nest.deep) do
      if self.facts.reduced[r] and Facts.stride(access, v) == 1
          and Facts.stride(access, r) == "far" then
        return true
      end
    end
  end
  return false
end

-- Neighbouring iterations of `v` run side by side in all that stands in it.
function Cpu:make_lanes(nest, v)
  local script, facts, names = self.script, self.facts, {}
  local size = 1
  for _, access in ipairs(nest.deep) do size = math.max(size, access.size) end
  local width = math.max(1, self.vector//size)
  local u
  for _, each in ipairs(Facts.without(nest.chain, v)) do
    if facts.loop[each].par and is_reused(nest.deep, each, v) then u = each end
  end
  local trips = facts.trips[v]
  local function fits(lengths)
    local out = {}
    for _, each in ipairs(lengths) do
      if not trips or each <= trips or #out == 0 then out[#out + 1] = each end
    end
    return out
  end
  local lengths, length, why
  if u then
    lengths, length = fits{2*width, 4*width, 8*width}, 4*width
    why = ("a block of results in registers: vectors along `%s`, each loaded for several `%s`")
      :format(v, u)
  else
    lengths = fits{width, 2*width, 4*width, 32*width, 128*width}
    length = self:walks_down(nest, v) and 128*width or 2*width
    why = ("vectors along `%s`, around the loops in it"):format(v)
  end
  if self.gangs then return self:make_gangs(nest, v, u, why) end
  while length > lengths[#lengths] do length = lengths[#lengths] end
  local tags = {inner_tag = "vec", slabs = {0, 1}}
  names[v] = self:split(why, v, script:knob(v .. "_lanes", lengths, length), tags)
  if not names[v] then return false end
  local order = {}
  if u then
    local copies = script:knob(u .. "_copies", {1, 2, 4, 6, 8}, 4)
    names[u] = self:split(why, u, copies, {inner_tag = "ilp", slabs = {0, 1}})
    if names[u] then
      for _, each in ipairs(Facts.without(nest.chain, v)) do
        if each == u then order[#order + 1] = names[v] end
        order[#order + 1] = names[each] or each
      end
      if not script:try(("the columns for a block of `%s` stay in the cache"):format(v),
                        "prioritize_loops", order) then
        order = {}
      end
    end
  end
  self:spread(#order > 0 and {v, table.unpack(nest.chain)} or nest.chain, names)
  return true
end

-- Lanes along `v` run the loops in it; each has several `u`, if given, side by side.
function Cpu:make_gangs(nest, v, u, why)
  local script, names, outside = self.script, {}, Facts.without(nest.chain, v)
  if nest.chain[#nest.chain] ~= v then
    local order = {table.unpack(outside)}
    order[#order + 1] = v
    if not script:try(why, "prioritize_loops", order) then return false end
  end
  if self.threads and #outside == 0 and self:is_worth_threads(v) then
    local chunk = script:knob(v .. "_chunk", {64, 256, 1024}, 256)
    names[v] = self:split(why, v, chunk, {inner_tag = "simd"})
    if not names[v] then return false end
    self:spread({v}, names)
    return true
  end
  if not script:try(why, "tag_inames", {[v] = "simd"}) then return false end
  if u then
    local copies = script:knob(u .. "_copies", {1, 2, 4, 6, 8}, 4)
    names[u] = self:split(why, u, copies, {inner_tag = "ilp", slabs = {0, 1}})
  end
  self:spread(outside, names)
  return true
end

-- A reduction outside of all loops.
function Cpu:total(loop)
  local r = loop.iname
  for _, access in ipairs(self.facts:deepest(loop)) do
    if Facts.stride(access, r) == "far" then return end
  end
  local own = self.script
  self.script = own:fork()
  if not self:add_in_vectors(r) or self.accepts and not self.accepts(self.script.knl) then
    self.script = own
  end
end

function Cpu:add_in_vectors(r)
  if not self.threads then
    return self.script:try(("`%s` is added up in vectors"):format(r), "tag_inames", {[r] = "simd"})
  end
  local chunk = self.script:knob(r .. "_chunk", {1024, 4096, 16384}, 4096)
  local why = ("threads share chunks of `%s`, each added up in vectors"):format(r)
  return self:split(why, r, chunk, {outer_tag = "par", inner_tag = "simd"}) ~= nil
end

-- The terms of a reduction along `r` are added up in the lanes of vectors.
function Cpu:reduce_in_lanes(nest, r)
  if not self.script:try(("`%s` is added up in vectors"):format(r), "tag_inames", {[r] = "simd"}) then
    return false
  end
  self:spread(nest.chain, {})
  return true
end

return Cpu
