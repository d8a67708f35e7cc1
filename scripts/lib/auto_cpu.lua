-- Schedules for processors: loops along memory innermost, lanes of vectors, blocks of results in
-- registers, threads. For moonloop.auto alone.
local lp = require "moonloop"
local Facts = require "moonloop.auto_facts"
local Recurrence = require "moonloop.auto_recurrence"
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
  if self.threads then self:inline_calls() end
  self:take_scans{
    blocks = function(iname) return self.threads and self:is_worth_threads(iname) end,
    size = 1024, tag = "par",
  }
  for _, iname in ipairs(self.facts.inside[""] or {}) do self:nest(iname) end
  return self.script
end

-- Whether what is called within parallel loops cannot be a function.
function Cpu.is_no_function() return false end

-- Statements of other kernels in the places of their calls, where no loop around a call is parallel: those
-- in what is called may be.
function Cpu:inline_calls()
  for _, insn in ipairs(self.script.knl.instructions) do
    local name = insn.kind == "call" and insn.rhs:match "^([%a_][%w_]*)%("
    local known, callee = pcall(lp.callee, self.script.knl, name or "")
    local why = name and known and self:why_inline(insn, callee)
    if why and self.script:try(why:format(name), "inline", name) then
      self:look()
      return self:inline_calls()  -- what was put in may call others
    end
  end
end

-- Why the call should not stay one; nothing where it may. Loops that are not looked at have tags.
function Cpu:why_inline(call, callee)
  for _, each in ipairs(call.inames) do
    local loop = self.facts.loop[each]
    if not loop or loop.par then
      return self.is_no_function(callee) and "no work-item has room for arrays of `%s`"
    end
  end
  return "loops in `%s` can be shared, and none around its call"
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
  if fast ~= lanes and not new_line then return 1 end
  return 4  -- a line for each lane, one after the other, and then they are put together
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

local kUnknown = 1000  -- iterations of a loop of unknown length
local kRegion = 20000  -- iterations for which it pays that threads start and wait
local kLong = 16        -- so many vectors at once need no code of their own for what is left over
local kShares = 8      -- so many pieces of a loop let a few threads end at about the same time

local kLongCopy = 256  -- elements of a row for which C libraries copy faster than a loop
local kWorthCopy = 16  -- terms of a sum for which it pays to copy what they read

-- ---- Nests ----------------------------------------------------------------------------------------

-- Schedules what is in the loop, in the cheapest way that is legal.
function Cpu:nest(iname)
  if self.done[iname] then return end
  local loop = self.facts.loop[iname]
  if self.facts.reduced[iname] then return self:total(loop) end
  if self:tiles_in_time(loop) then return end
  if self:copies_or_blocks(loop) or self:blocks_inside(loop) then return end
  if self:share_statements(loop) then return end
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
  local done, step, shared = cut_time(trial, self.facts, loop, self.threads and not self.gangs)
  if not done or self.accepts and not self.accepts(done.knl) then return false end
  self.script = done
  local facts, threads = self.facts, self.threads
  self.threads = threads and not shared
  self.facts = Facts.of(trial.knl, self.params, step)
  for _, each in ipairs(self.facts.inside[step] or {}) do self:nest(each) end
  self.facts, self.threads = facts, threads
  return true
end

-- Of a loop whose sums read what it writes: copies of what later iterations overwrite, or blocks
-- where earlier iterations compute it.
function Cpu:copies_or_blocks(loop)
  return self:attempt(function() return self:copy_before(loop) end)
    or self:attempt(function() return Recurrence.blocks(self, loop) end)
end

-- Of a nest in which no loop is parallel, blocks of the innermost loops that have some.
function Cpu:blocks_inside(loop)
  local facts = self.facts
  local chain = facts:chain(loop)
  if loop.par or #chain < 2 then return false end
  for _, each in ipairs(chain) do
    if facts.loop[each].par then return false end
  end
  return self:attempt(function()
    for i = 2, #chain do
      if Recurrence.blocks(self, facts.loop[chain[i]]) then return true end
    end
    return false
  end)
end

-- Whether the statements of a loop have all loops in common.
function Cpu:is_one_nest(loop)
  local first
  local same = true
  for _, id in ipairs(loop.ids) do
    local each = self.facts.instruction[id]
    local loops = table.concat(each.inames, ",")
    first = first or loops
    same = same and loops == first and #each.reduction_inames == 0
  end
  return same
end

-- Threads share chunks of a parallel loop around several nests: they start once for all of these,
-- and what one statement hands on to the next one is in the cache of the thread.
function Cpu:share_statements(loop)
  local iname = loop.iname
  if not self.threads or self.gangs or not loop.par or #loop.ids < 2 or self:is_one_nest(loop)
      or not self:is_worth_threads(iname) then
    return false
  end
  local own, facts = self.script, self.facts
  self.script = own:fork()
  local length = 8
  while length < 64 and length*2*kShares <= (facts.trips[iname] or kUnknown) do
    length = 2*length
  end
  local chunk = self.script:knob(iname .. "_chunk", {8, 16, 32, 64, 128, 256}, length)
  local why = ("threads share chunks of `%s`, with all statements in them"):format(iname)
  local outer = self:split(why, iname, chunk, {outer_tag = "par", inner_iname = iname .. "_in"})
  if not outer or self.accepts and not self.accepts(self.script.knl) then
    self.script = own
    return false
  end
  self.facts, self.threads = Facts.of(self.script.knl, self.params, outer), false
  self.shared = outer
  for _, each in ipairs(self.facts.inside[outer] or {}) do self:nest(each) end
  self.facts, self.threads, self.shared = facts, true, nil
  return true
end

-- Gives the statements of a loop loops of their own, unless they have all loops in common.
function Cpu:distribute(loop)
  if self:is_one_nest(loop) then return false end
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
  if self:spread(nest, nest.chain, {}) then self.threads = false end
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

-- A sum that reads what later iterations overwrite: of a copy made before, they read at once.
function Cpu:copy_before(loop)
  local facts, inames, in_order = self.facts, {}, 0
  local nest = {loop = loop, chain = facts:chain(loop)}
  nest.rest = facts:rest(loop, nest.chain)
  local terms = 1
  for _, each in ipairs(nest.rest) do terms = terms*(facts.trips[each] or kUnknown) end
  if #loop.ids ~= 1 or terms < kWorthCopy then return false end
  for _, each in ipairs(nest.chain) do
    inames[#inames + 1] = each
    if not facts.loop[each].par then in_order = in_order + 1 end
  end
  table.move(nest.rest, 1, #nest.rest, #inames + 1, inames)
  local id, written = nest.loop.ids[1], nil
  for _, access in ipairs(facts.accesses[id]) do
    if access.write and #access.index > 0 then written = access end
  end
  if in_order == 0 or not written then return false end
  local params = {}
  for axis in ipairs(written.index) do params[axis] = "at_" .. axis end
  local name = self:fresh_name(written.variable .. "_before")
  local why = ("sums read `%s` as it was: of a copy, `%s` may run at once"):format(
    written.variable, table.concat(nest.chain, "`, `"))
  local place = ("%s[%s]"):format(written.variable, table.concat(params, ", "))
  local done = self.script:try(why, "extract_subst", name, place, params, "id:" .. id)
    and self.script:try(why, "precompute", name, inames, {temporary_name = name .. "_copy"})
    and self.script:try(why, "set_temporary_address_space", name .. "_copy", "global")
  if not done then return false end
  self:look()
  for _, each in ipairs(nest.chain) do
    if not self.facts.loop[each].par then
      self.facts = facts
      return false
    end
  end
  for _, each in ipairs(self.facts.inside[""]) do
    if not facts.loop[each] then self:nest(each) end  -- of the copy
  end
  self:nest(nest.loop.iname)
  return true
end

-- A name that no array, rule or loop has.
function Cpu:fresh_name(name)
  local known = {}
  for _, list in ipairs{self.script.knl.args, self.script.knl.temporaries, self.script.knl.rules} do
    for _, each in ipairs(list) do known[each.name] = true end
  end
  local out, n = name, 1
  while known[out] or known[out .. "_copy"] do
    out, n = name .. "_" .. n, n + 1
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

-- Whether threads have enough to do in the loop, which begins anew in each iteration of loops in
-- order. `nest`, if given, has loops that may be put inside of it, all but those in `outside`.
function Cpu:is_worth_threads(iname, nest, outside)
  local facts, again = self.facts, false
  local first = nest and nest.loop or facts.loop[iname]
  for _, list in ipairs{first.around, outside or {}} do
    for _, each in ipairs(list) do again = again or not facts:is_parallel(each) end
  end
  if not again then return true end
  local all = 0
  for _, id in ipairs(facts.loop[iname].ids) do
    local own, insn = facts.trips[iname] or kUnknown, facts.instruction[id]
    for _, each in ipairs(facts.loops) do
      local name = each.iname
      local is_around = insn.around[name] or Facts.contains(insn.reduction_inames, name)
      local is_inside = each == first or Facts.contains(each.around, first.iname)
      if is_around and is_inside and name ~= iname and not Facts.contains(outside or {}, name) then
        own = own*(facts.trips[name] or kUnknown)
      end
    end
    all = all + own
  end
  return all >= kRegion
end

-- Threads share the first parallel loop; `names` has what became of those that were split.
function Cpu:spread(nest, loops, names)
  if not self.threads then return false end
  local outside = {}
  for _, iname in ipairs(loops) do
    if self.facts.loop[iname].par then
      if not self:is_worth_threads(iname, nest, outside) then return false end
      local now = names[iname] or iname
      return self.script:try(("threads share `%s`"):format(now), "tag_inames", {[now] = "par"})
    end
    outside[#outside + 1] = iname
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

-- Whether all that the loop `v`, which is not short, does is to copy elements that follow each other
-- in memory.
function Cpu:is_copy(nest, v)
  if self.gangs or (self.facts.trips[v] or kUnknown) < kLongCopy then return false end
  for _, id in ipairs(nest.loop.ids) do
    local rhs = self.facts.instruction[id].rhs
    if not rhs or not rhs:match "^[%w_]+%b[]$" then return false end
    for _, access in ipairs(self.facts.accesses[id]) do
      if Facts.stride(access, v) ~= 1 then return false end
    end
  end
  return true
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
    self:spread(nest, {v}, {[v] = outer})
    return true
  end
  if self:is_copy(nest, v) then
    script:note(("`%s` copies rows, for which compilers have code of their own"):format(v))
  elseif not script:try(("vectors along `%s`"):format(v), "tag_inames", {[v] = "simd"}) then
    return false
  end
  self:spread(nest, outside, {})
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
  local lengths, length, last_fitting, why
  if u then
    lengths, length = fits{2*width, 4*width, 8*width}, 4*width
    why = ("a block of results in registers: vectors along `%s`, each loaded for several `%s`")
      :format(v, u)
  else
    lengths = fits{width, 2*width, 4*width, kLong*width, 2*kLong*width, 8*kLong*width}
    length = self:walks_down(nest, v) and 8*kLong*width or 2*width
    why = ("vectors along `%s`, around the loops in it"):format(v)
  end
  if self.gangs then return self:make_gangs(nest, v, u, why) end
  if not u and self.shared and self.shared == facts.loop[v].around[#facts.loop[v].around] then
    return script:try(why, "tag_inames", {[v] = "vec"})  -- all of the chunk
  end
  -- Threads that share the vectors need some each.
  local most = self.threads and not u and (trips or kUnknown)//kShares or math.huge
  for _, each in ipairs(lengths) do
    if each <= most or each == lengths[1] then last_fitting = each end
  end
  length = math.min(length, last_fitting)
  local tags = {inner_tag = "vec"}
  if not self.threads or length < kLong*width then tags.slabs = {0, 1} end
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
  local to_share = nest.chain
  if #order > 0 then
    to_share = {v, table.unpack(nest.chain)}
  elseif self.threads and not u and not facts.loop[nest.chain[1]].par then
    -- Outside of loops in order, threads start once.
    local outermost = {names[v], table.unpack(Facts.without(nest.chain, v))}
    if script:try(("`%s` goes outside, so that threads start once"):format(names[v]),
                  "prioritize_loops", outermost) then
      to_share = {v}
    end
  end
  self:spread(nest, to_share, names)
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
    self:spread(nest, {v}, names)
    return true
  end
  if not script:try(why, "tag_inames", {[v] = "simd"}) then return false end
  if u then
    local copies = script:knob(u .. "_copies", {1, 2, 4, 6, 8}, 4)
    names[u] = self:split(why, u, copies, {inner_tag = "ilp", slabs = {0, 1}})
  end
  self:spread(nest, outside, names)
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
  self:spread(nest, nest.chain, {})
  return true
end

return Cpu
