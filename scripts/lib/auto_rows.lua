-- Work-items of a group side by side along loops that step through memory, or along sums of few
-- results; loops in order that one group runs by itself. For moonloop.auto alone.
local Blocks = require "moonloop.auto_blocks"
local Divisions = require "moonloop.auto_divisions"
local Facts = require "moonloop.auto_facts"
local Script = require "moonloop.auto_script"
local Shape = require "moonloop.reduction_shape"

local Rows = {}

local kManyRows = 1 << 14   -- rows of which a warp each fills a device
local kHalf = 2             -- bytes of elements of which a work-item has to read many at once
local kHalfWarp = 16        -- work-items
local kTinyRow = 128        -- elements of a row, for which half a warp is better
local kMultiprocessor = 2048  -- work-items that one has at once
local kFirstCache = 1 << 17 -- bytes there for what they read more than once
local kShortRow = 24        -- iterations for which a work-item a row is as good
local kFewColumns = 1 << 18 -- of which a work-item each leaves a device idle
local kFewResults = 1 << 16 -- that leave work-items of a device idle, one each
local kLocal = 40*1024      -- bytes of local memory that a group may need for parts of an array
local kDivisions = 4         -- by one number that are worth its reciprocal
local kOneGroup = 1 << 14   -- iterations that one group finishes while a kernel is launched
local kLaunches = 1 << 22   -- iterations that take a device no longer than some launches

-- Iterations of all of the loops together; nothing where that is not known.
local function product(facts, inames)
  local out = 1
  for _, each in ipairs(inames) do
    if not facts.trips[each] then return nil end
    out = out*facts.trips[each]
  end
  return out
end

-- Whether neighbouring iterations access neighbouring memory: nothing is far, something is next.
local function steps_through_memory(facts, iname)
  local any = false
  for _, id in ipairs(facts.loop[iname].ids) do
    for _, access in ipairs(facts.accesses[id]) do
      local stride = Facts.stride(access, iname)
      if stride == "far" then return false end
      any = any or stride == 1
    end
  end
  return any
end

local function at_once(facts, iname) return facts.reduced[iname] or facts.loop[iname].par end

-- The parallel loops of the chain, if those in order are all around them.
local function parallel_of(facts, nest)
  local out = {}
  for _, each in ipairs(nest.chain) do
    if facts.loop[each].par and facts.trips[each] ~= 1 then
      out[#out + 1] = each
    elseif #out > 0 and facts.trips[each] ~= 1 then
      return {}
    end
  end
  return out
end

-- Groups along the loops, the last one innermost and in work-items of axis 1, if `per_group` is given.
local function take_groups(device, why, loops, per_group)
  local first = 0
  if per_group then
    local tags = {outer_tag = "g.0", inner_tag = "l.1"}
    if not device:split(why, loops[#loops], per_group, tags) then return false end
    first = 1
  end
  for axis = first, math.min(2, #loops - 1) do
    local iname = loops[#loops - axis]
    if not device.script:try(why, "tag_inames", {[iname] = "g." .. axis}) then return false end
  end
  return true
end

-- The arrays of which several of the loops read the same elements, neighbours along them and others in
-- each iteration of `row`, and which none writes; with the bytes of a row and of an element.
local function read_again(facts, lanes, row)
  local by_element, out, written, taken = {}, {}, {}, {}
  for _, each in ipairs(lanes) do
    for _, id in ipairs(facts.loop[each].ids) do
      for _, access in ipairs(facts.accesses[id]) do
        if access.write then written[access.variable] = true end
        local index = table.concat(access.index, ", "):gsub("[%a_][%w_]*", {[each] = "#"})
        local element = ("%s[%s]"):format(access.variable, index)
        local known = by_element[element]
        if not known then
          known = {name = access.variable, loops = {}, count = 0, size = access.size}
          by_element[element], out[#out + 1] = known, known
        end
        if Facts.stride(access, each) == 1 and Facts.stride(access, row) ~= 0 then
          if not known.loops[each] then known.loops[each], known.count = true, known.count + 1 end
          known.bytes = access.size*(facts.trips[each] or 0)
        end
      end
    end
  end
  local again = {}
  for _, each in ipairs(out) do
    if each.count > 1 and not written[each.name] and not taken[each.name] then
      taken[each.name], again[#again + 1] = true, each
    end
  end
  return again
end

-- The bytes of an element of what the loops read along them, the least.
local function element_size(facts, lanes)
  local out = math.huge
  for _, each in ipairs(lanes) do
    for _, id in ipairs(facts.loop[each].ids) do
      for _, access in ipairs(facts.accesses[id]) do
        if not access.write and Facts.stride(access, each) == 1 then out = math.min(out, access.size) end
      end
    end
  end
  return out
end

-- Work-items for each row, so that rows which are read again are still in the first cache.
local function row_items(again, count, longest, size)
  local by_warps = not count or count >= kManyRows or longest <= kTinyRow
  local bytes = 0
  for _, each in ipairs(again) do bytes = bytes + each.bytes end
  local out = not by_warps and (longest < 4096 and 128 or size <= kHalf and 1024 or 256)
    or bytes > 0 and longest <= kTinyRow and 16 or 32
  while out < 1024 and bytes*kMultiprocessor > kFirstCache*out do out = 2*out end
  return out, by_warps and out <= 32
end

-- Work-items along rows keep what several loops read of them in registers: gives how many there are.
local function keep_rows(device, why, lanes, again, longest)
  local script, names, bytes = device.script, {}, 0
  for n, each in ipairs(again) do
    names[n], bytes = each.name, bytes + each.size
  end
  local most = longest <= 1024 and 32 or longest <= 8192 and 64 or 128
  local registers = Shape.power(longest/kHalfWarp, 1, math.max(1, most // bytes))
  local items = Shape.power(longest/registers, kHalfWarp, 1024)
  local options = {
    lanes = script:knob(lanes[1] .. "_items", items < 32 and {8, 16, 32} or items > 256 and {256, 512, 1024}
                        or {32, 64, 128, 256}, items),
    registers = script:knob(lanes[1] .. "_kept", {1, 2, 4, 8, 16, 32}, registers),
    unroll = longest > items*registers and script:knob(lanes[1] .. "_unrolled", {1, 8, 16}, 16) or nil}
  why = ("%s; they keep what they read of `%s`"):format(why, table.concat(names, "`, `"))
  return script:try(why, "keep", names, lanes, options) and items
end

-- Each row of a parallel loop is a warp's or a group's, whose work-items are along it: all that is in
-- the rows runs at once, or adds up, along memory.
function Rows.make(device, nest)
  local facts, script = device.facts, device.script
  local rows, lanes = parallel_of(facts, nest), facts.inside[nest.chain[#nest.chain]] or {}
  if #rows == 0 or #lanes == 0 then return false end
  local longest = 0
  for _, each in ipairs(lanes) do
    if not at_once(facts, each) or not steps_through_memory(facts, each) then return false end
    longest = math.max(longest, facts.trips[each] or kManyRows)
  end
  if longest < kShortRow then return false end
  for _, each in ipairs(rows) do
    if Blocks.of(facts, nest, rows, each) then return false end
  end
  local count, size = product(facts, rows), element_size(facts, lanes)
  local again = read_again(facts, lanes, rows[#rows])
  local length, by_warps = row_items(again, count, longest, size)
  local why = ("work-items of a group are along the rows, `%s`"):format(table.concat(lanes, "`, `"))
  for _, each in ipairs(lanes) do
    if (facts.trips[each] or kManyRows) >= kDivisions*length and not facts.reduced[each] then
      Divisions.before(device, facts.loop[each].ids, {}, {each})
    end
  end
  local kept = #again > 0 and keep_rows(device, why, lanes, again, longest)
  script = device.script
  if kept then
    length, by_warps = kept, kept < 64
  else
    local items = script:knob(
      lanes[1] .. "_items",
      length < 32 and {8, 16, 32} or length > 256 and {256, 512, 1024} or {32, 64, 128, 256}, length)
    for _, each in ipairs(lanes) do
      local ahead = size <= kHalf and facts.reduced[each] and "unr_hint.8" or nil
      if not device:split(why, each, items, {outer_tag = ahead, inner_tag = "l.0"}) then return false end
    end
  end
  local per_group = by_warps and script:knob(
    rows[#rows] .. "_rows", length < 32 and {4, 8, 16} or {1, 2, 4}, 128 // length) or nil
  return take_groups(device, why, rows, per_group)
end

-- How many accesses in the loop `x` step far through memory along `iname`.
local function far_along(facts, x, iname)
  local out = 0
  for _, id in ipairs(facts.loop[x].ids) do
    for _, access in ipairs(facts.accesses[id]) do
      if Facts.stride(access, iname) == "far" then out = out + 1 end
    end
  end
  return out
end

-- Columns, neighbours along memory, of a parallel loop: work-items of a group share what runs at once in
-- each, and sums, so that all of it is one kernel; for few iterations, beside which launches count, and
-- for sums of columns that are too few for a work-item each.
function Rows.columns(device, nest)
  local facts, script = device.facts, device.script
  local rows, lanes = parallel_of(facts, nest), facts.inside[nest.chain[#nest.chain]] or {}
  local v, sums, work = rows[1], 0, 0
  if #rows ~= 1 or #lanes < 2 or far_along(facts, nest.loop.iname, v) > 0 then return false end
  for _, each in ipairs(lanes) do
    if not at_once(facts, each) or #(facts.inside[each] or {}) > 0
        or far_along(facts, nest.loop.iname, each) == 0 then
      return false
    end
    sums = sums + (facts.reduced[each] and 1 or 0)
    work = work + (product(facts, {v, each}) or math.huge)
  end
  local short = work <= kLaunches
  if sums == 0 or not short and (sums < #lanes or (facts.trips[v] or math.huge) >= kFewColumns) then
    return false
  end
  local why = ("columns, neighbours along `%s`: work-items of a group share `%s`"):format(
    v, table.concat(lanes, "`, `"))
  local columns = script:knob(v .. "_columns", {4, 8, 16, 32}, short and 8 or 32)
  local items = script:knob(
    lanes[1] .. "_items", short and {16, 32, 64, 128} or {4, 8, 16, 32}, short and 32 or 8)
  if not device:split(why, v, columns, {outer_tag = "g.0", inner_tag = "l.0"}) then return false end
  for _, each in ipairs(lanes) do
    if not device:split(why, each, items, {inner_tag = "l.1"}) then return false end
  end
  return true
end

-- Work-items share the terms of each of few results, which are neighbours along `v`.
function Rows.share_terms(device, nest, parallel, v)
  local facts, script = device.facts, device.script
  local sums = facts.inside[nest.chain[#nest.chain]] or {}
  local r = sums[1]
  if #nest.loop.ids ~= 1 or #sums ~= 1 or not facts.reduced[r] then return false end
  if #parallel_of(facts, nest) ~= #parallel then return false end
  for _, each in ipairs(nest.chain) do  -- one that follows from the others is no loop of the host
    if facts.loop[each].par and facts.trips[each] == 1 then return false end
  end
  local results = product(facts, parallel)
  if not results or results >= kFewResults or (facts.trips[r] or kOneGroup) < 64 then return false end
  local items = script:knob(v .. "_items", {16, 32, 64}, 32)
  local parts = script:knob(r .. "_items", {4, 8, 16, 32}, results < kFewResults//8 and 32 or 8)
  local why = ("few results, neighbours along `%s`: work-items share the terms of each"):format(v)
  local rest = Facts.without(parallel, v)
  local order = {table.unpack(rest)}
  order[#order + 1] = v
  if order[#order] ~= nest.chain[#nest.chain] then
    local all = {}
    for _, each in ipairs(nest.chain) do
      if not Facts.contains(parallel, each) then all[#all + 1] = each end
    end
    table.move(order, 1, #order, #all + 1, all)
    if not script:try(why, "prioritize_loops", all) then return false end
  end
  if not device:split(why, v, items, {outer_tag = "g.0", inner_tag = "l.0"}) then return false end
  if not device:split(why, r, parts, {inner_tag = "l.1"}) then return false end
  for axis = 1, math.min(2, #rest) do
    local tag = {[rest[#rest + 1 - axis]] = "g." .. axis}
    if not script:try(why, "tag_inames", tag) then return false end
  end
  return true
end

-- Sums of few results, or of axes with others between them, in one pass: what else is in the loops
-- around is not in loops of its own.
function Rows.reduce(device, nest)
  local facts, script = device.facts, device.script
  local insns, around = {}, table.concat(nest.chain, ",")
  for _, id in ipairs(nest.loop.ids) do
    local insn = facts.instruction[id]
    if table.concat(insn.inames, ",") ~= around then return false end
    if #insn.reduction_inames > 0 then
      if insns[1] and table.concat(insns[1].reduction_inames, ",") ~= table.concat(insn.reduction_inames, ",") then
        return false
      end
      insns[#insns + 1] = insn
    end
  end
  local parallel = parallel_of(facts, nest)
  if #insns == 0 or #parallel == 0 or #parallel ~= #nest.chain then return false end
  local s, ids = Shape.of(script.knl, insns, device.params), {}
  for n, each in ipairs(insns) do ids[n] = each.id end
  local size = 256
  local strategy = Shape.strategy(s, size)
  local between = s.by_rows and #s.others > 0
  local columns = not s.by_rows and #nest.loop.ids > 1 and (s.results or math.huge) < kFewColumns
  if strategy ~= "two_stage" and not between and not columns then return false end
  local options = {strategy = strategy, size = script:knob("size", {128, 256, 512}, size), params = {}}
  for _, each in ipairs(script.knl.params) do options.params[each] = device.params[each] end
  local how = s.by_rows and "work-items share the terms along `%s`" or "neighbours along `%s`, terms are shared"
  if strategy == "two_stage" then
    local _, chunk = Shape.chunk(s, size)
    local sizes = chunk > 1 and {chunk // 2, chunk, 2*chunk} or {1, 2, 4}
    options.chunk = script:knob("chunk", sizes, chunk)
    how = "few results: groups have parts of the sums; " .. how
  elseif columns then
    how = "few columns, " .. how
  end
  return script:try(how:format(s.lane), "reduce", ids, options)
end

-- Each iteration of parallel loops, in which others run in order around sums, is a warp's, whose
-- work-items share the terms: neighbours along `v` would be far apart in memory.
function Rows.share_sums(device, nest, v)
  local facts, script = device.facts, device.script
  local rows, in_order = {}, false
  for _, each in ipairs(nest.chain) do
    if facts.loop[each].par and facts.trips[each] ~= 1 then
      if in_order then return false end
      rows[#rows + 1] = each
    else
      in_order = in_order or #rows > 0
    end
  end
  local longest, far = 0, 0
  for _, each in ipairs(nest.rest) do
    if not facts.reduced[each] then return false end
    longest = math.max(longest, facts.trips[each] or kManyRows)
    far = far + far_along(facts, nest.loop.iname, each)
  end
  local across = far_along(facts, nest.loop.iname, v)
  if not in_order or #rows == 0 or longest < kShortRow or across == 0 or far > across then return false end
  local why = ("a warp computes each `%s`: its work-items share the terms of sums"):format(rows[#rows])
  for _, each in ipairs(nest.rest) do
    if not device:split(why, each, 32, {inner_tag = "l.0"}) then return false end
  end
  return take_groups(device, why, rows, script:knob(rows[#rows] .. "_rows", {1, 2, 4, 8}, 4))
end

-- By array that the loop writes: reads of what is the same in all iterations of `v`, and how many
-- bytes an element has.
local function read_by_all(facts, loop, v)
  local out, size = {}, {}
  for _, id in ipairs(loop.ids) do
    for _, access in ipairs(facts.accesses[id]) do
      if access.write then
        out[access.variable] = out[access.variable] or {}
        size[access.variable] = access.size
      end
    end
  end
  for _, id in ipairs(loop.ids) do
    for _, access in ipairs(facts.accesses[id]) do
      local list = out[access.variable]
      if list and Facts.stride(access, v) == 0 then
        if access.write then return nil end
        list[#list + 1] = access
      end
    end
  end
  return out, size
end

-- Patterns of these reads and of no other access to the array in the loop, with their parameters: one
-- for all, where an axis is the same in all of them and in them alone, or else one for each.
local function patterns_of(facts, loop, reads)
  local name, axes, params, fixed = reads[1].variable, {}, {}, false
  for axis, index in ipairs(reads[1].index) do
    local same = true
    for _, each in ipairs(reads) do same = same and each.index[axis] == index end
    for _, id in ipairs(loop.ids) do
      for _, each in ipairs(facts.accesses[id]) do
        local is_other = each.variable == name and not Facts.contains(reads, each)
        if is_other and each.index[axis] == index then same = false end
      end
    end
    fixed = fixed or same
    axes[axis] = same and index or "x" .. axis
    if not same then params[#params + 1] = axes[axis] end
  end
  local function text_of(index) return ("%s[%s]"):format(name, table.concat(index, ", ")) end
  if fixed then return {{text = text_of(axes), params = params, reads = reads}} end
  local out, known = {}, {}
  for _, each in ipairs(reads) do
    local text = text_of(each.index)
    if not known[text] then out[#out + 1] = {text = text, params = {}, reads = {each}} end
    known[text] = true
  end
  return out
end

-- Each iteration of `v` is a work-item's, which computes its row of an array in order, in local
-- memory; so is what all rows need. Neighbours along `v` would be far apart in memory.
function Rows.in_local(device, nest, v)
  local facts, script = device.facts, device.script
  local trips = facts.trips
  if nest.chain[1] ~= v or #nest.chain ~= 2 or facts.loop[nest.chain[2]].par then return false end
  local length = trips[nest.chain[2]] or math.huge
  for _, each in ipairs(nest.rest) do
    if not facts.reduced[each] then return false end
    length = math.max(length, trips[each] or math.huge)
  end
  local shared, sizes = read_by_all(facts, nest.loop, v)
  if not shared or next(shared) == nil or next(shared, next(shared)) then return false end
  local array = next(shared)
  local count, size = 64, sizes[array]
  while count > 16 and size*length*(length + count) > kLocal do count = count // 2 end
  if far_along(facts, nest.loop.iname, v) == 0 or size*length*(length + count) > kLocal then
    return false
  end
  local within = "id:" .. table.concat(nest.loop.ids, " or id:")
  local sweep = {nest.chain[2], table.unpack(nest.rest)}
  local why = ("a work-item computes each `%s`, whose part of `%s` is in local memory meanwhile")
    :format(v, array)
  local inner = device:fresh(v .. "_row")
  local items = script:knob(v .. "_items", {16, 32, 64}, count)
  if not device:split(why, v, items, {outer_tag = "g.0", inner_tag = "l.0", inner_iname = inner}) then
    return false
  end
  local of_all = ("so is what all `%s` need of it"):format(v)
  for _, each in ipairs(#shared[array] > 0 and patterns_of(facts, nest.loop, shared[array]) or {}) do
    local rule = device:fresh_name(array .. "_of_all")
    local tile = device:fresh_name(rule .. "_tile")
    local options, over = {default_tag = "l.auto", temporary_name = tile}, {}
    for _, x in ipairs(sweep) do
      local moves = false
      for _, read in ipairs(each.reads) do moves = moves or Facts.stride(read, x) ~= 0 end
      if moves then over[#over + 1] = x end
    end
    if not script:try(of_all, "extract_subst", rule, each.text, {parameters = each.params, within = within})
        or not script:try(of_all, "precompute", rule, over, options) then
      return false
    end
  end
  Divisions.before(device, nest.loop.ids, sweep, {inner})
  script = device.script
  local part = device:fresh_name(array .. "_rows")
  local loops = {inner, table.unpack(sweep)}
  if not script:try(why, "buffer_array", array, loops, {within = within, temporary_name = part}) then
    return false
  end
  return script:try("rows of it are apart, past conflicts of banks", "tag_array_axes", part,
                    ("N1, N0(pad=%d)"):format(length + 1 - length % 2))
end

-- How many instances of statements the loop has; nothing where that is not known.
local function work_in(facts, iname)
  local out = 0
  for _, id in ipairs(facts.loop[iname].ids) do
    local insn, own = facts.instruction[id], {}
    for _, each in ipairs(facts.loops) do
      local is_around = insn.around[each.iname] or Facts.contains(insn.reduction_inames, each.iname)
      local is_inside = each.iname == iname or Facts.contains(each.around, iname)
      if is_around and is_inside then own[#own + 1] = each.iname end
    end
    local instances = product(facts, own)
    if not instances then return nil end
    out = out + instances
  end
  return out
end

-- The loops right in the loop, if all run at once and one iteration of it takes no longer than a
-- launch.
local function short_lanes(facts, iname)
  local lanes = facts.inside[iname] or {}
  for _, each in ipairs(lanes) do
    if not at_once(facts, each) then return {} end
    local work = work_in(facts, each)
    if not work or work > kOneGroup then return {} end
  end
  return lanes
end

-- Arrays of parameters' sizes that the loop computes stay in global memory: a group has no room.
local function keep_arrays(device, why, loop)
  local written = {}
  for _, id in ipairs(loop.ids) do
    for _, each in ipairs(device.facts.instruction[id].writes) do written[each] = true end
  end
  for _, each in ipairs(device.script.knl.temporaries) do
    local constant = true
    for _, extent in ipairs(each.shape or {}) do constant = constant and tonumber(extent) end
    if written[each.name] and not constant and not device.script:try(
        why, "set_temporary_address_space", each.name, "global") then
      return false
    end
  end
  return true
end

-- Parts of arrays that one group works on all the time, in its loop: copies of these in local memory.
-- `name`: what the loop is called since the device's facts were found.
function Rows.keep_in_local(device, iname, name)
  local facts, script = device.facts, device.script
  local ids, loops, known, arrays = {}, {}, {}, {}
  local around = {}
  for _, each in ipairs(facts.loop[iname].around) do around[each] = true end
  for _, insn in ipairs(script.knl.instructions) do
    if Facts.contains(insn.inames, name) then
      ids[#ids + 1] = insn.id
      for _, each in ipairs(insn.inames) do
        if not around[each] and not known[each] then
          known[each] = true
          loops[#loops + 1] = each
        end
      end
    end
  end
  for _, id in ipairs(facts.loop[iname].ids) do
    for _, access in ipairs(facts.accesses[id]) do
      local name = access.variable
      if not known[name] and #access.index > 0 then
        known[name] = true
        arrays[#arrays + 1] = name
      end
    end
  end
  for _, name in ipairs(arrays) do
    local own = script:fork()
    local part = device:fresh_name(name .. "_part")
    local why = ("what the group needs of `%s` is in local memory meanwhile"):format(name)
    local within = "id:" .. table.concat(ids, " or id:")
    local taken = script:try(why, "buffer_array", name, loops, {within = within, temporary_name = part})
    local size, row = 8, nil
    for _, each in ipairs(taken and script.knl.temporaries or {}) do
      if each.name == part then
        for _, extent in ipairs(each.shape) do size = size*(tonumber(extent) or math.huge) end
        row = #each.shape == 2 and tonumber(each.shape[2])
      end
    end
    if row and size <= kLocal then
      taken = script:try("rows of it are apart, past conflicts of banks", "tag_array_axes", part,
                         ("N1, N0(pad=%d)"):format(row + 1 - row % 2))
    end
    if not taken or size > kLocal then device.script, script = own, own end
  end
  Divisions.before(device, ids, loops, {})
  return true
end

-- The loop right in `x` that runs at once with it; nothing where there is another one.
local function second_of(facts, x)
  local inside = facts.inside[x] or {}
  local y = inside[1]
  if #inside == 1 and facts.loop[y].par and not facts.reduced[y] and facts.trips[y] ~= 1
      and not facts.reduced[x] then
    return y
  end
end

-- The name of the loop once it starts at zero: where a block is does not decide what work-items do.
local function from_zero(device, why, iname)
  local name = device:fresh(iname .. "_at")
  return device.script:try(why, "start_at_zero", iname, {name = name}) and name or iname
end

-- Makes these loops, one after the other, loops of the work-items of one group, which wait for each
-- other in between. `base` begins the name of the group's size.
local function take_lanes(device, why, base, lanes)
  local facts, script = device.facts, device.script
  local longest, most, second = 0, 0, {}
  for _, each in ipairs(lanes) do
    second[each] = second_of(facts, each)
    local trips = facts.trips[each]
    longest, most = math.max(longest, trips), math.max(most, trips*(facts.trips[second[each]] or 1))
  end
  if longest < kShortRow then return false end
  local two = most > longest
  local size = two and 256 or 64
  while size < 1024 and 2*size < (two and most // 16 or longest) do size = 2*size end
  local items = script:knob(base .. "_items", {64, 128, 256, 512, 1024}, size)
  local rows = Script.computed("%s//32", {items}, function(n) return n // 32 end)
  local splits = {}
  for _, lane in ipairs(lanes) do
    local y = second[lane]
    local each = facts.trips[lane] ~= 1 and from_zero(device, why, lane) or lane
    if y then
      y = from_zero(device, why, y)
      local across, along = each, y
      if far_along(facts, lane, second[lane]) > far_along(facts, lane, lane) then
        across, along = y, each
      end
      splits[#splits + 1] = {across, rows, {inner_tag = "l.1"}}
      splits[#splits + 1] = {along, 32, {inner_tag = "l.0"}}
    elseif facts.trips[lane] ~= 1 then
      local inner = two and device:fresh(each .. "_in") or nil
      splits[#splits + 1] = {each, items, two and {inner_iname = inner} or {inner_tag = "l.0"}}
      if two then splits[#splits + 1] = {inner, 32, {outer_tag = "l.1", inner_tag = "l.0"}} end
    end
  end
  if #splits == 1 then return device:split(why, table.unpack(splits[1])) ~= nil end
  return #splits == 0 or script:try_splits(why, splits)
end

-- One group runs a loop in order, with all that is in it: its work-items wait for each other, which
-- takes less time than a launch. Gives whether it does, and what the loop is called then.
function Rows.one_group(device, loop)
  local facts = device.facts
  local once = facts.trips[loop.iname] == 1
  local lanes = loop.par and not once and {} or short_lanes(facts, loop.iname)
  if #lanes == 0 or once and #lanes < 2 then return false end
  local beside = device.beside[loop.iname]
  if beside then
    lanes = {table.unpack(lanes)}
    for _, each in ipairs(beside) do lanes[#lanes + 1] = each end
  end
  local why = (once and "`%s` is short: one group runs it all"
    or "`%s` is in order and each iteration short: one group runs it all"):format(loop.iname)
  local own, name = device.script, loop.iname
  device.script = own:fork()
  if not once then name = from_zero(device, why, name) end
  if take_lanes(device, why, loop.iname, lanes) then
    device.beside[loop.iname] = nil
    return keep_arrays(device, why, loop), name
  end
  device.script = own
  return false
end

-- Whether one group finishes the loop while a kernel is launched.
function Rows.is_short(facts, iname)
  local work = at_once(facts, iname) and work_in(facts, iname)
  return work and work <= kOneGroup // 4 and facts.trips[iname] >= kShortRow
end

-- One group runs loops that are short, one after the other, rather than a launch each.
function Rows.one_after_the_other(device, lanes)
  local why = ("short, one after the other, `%s`: one group runs them"):format(table.concat(lanes, "`, `"))
  return take_lanes(device, why, lanes[1], lanes)
end

return Rows
