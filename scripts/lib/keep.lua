local lp = require "moonloop"
local support = require "moonloop.support"

-- The text with a name in the place of another one.
local function renamed(text, name, by)
  return (text:gsub("[%a_][%w_]*", function(word) return word == name and by or nil end))
end

-- Whether it is a loop of reductions; nothing if no statement is in it.
local function is_reduced(knl, iname)
  for _, each in ipairs(knl.instructions) do
    for _, other in ipairs(each.reduction_inames) do
      if other == iname then return true end
    end
    for _, other in ipairs(each.inames) do
      if other == iname then return false end
    end
  end
end

-- The reads of the arrays that two loops or more have in common, as patterns over `item` and `part` in
-- the place of each loop's own inner and outer one, in the order in which they are met.
local function common_reads(knl, arrays, loops, part, item)
  local wanted, by_pattern, out = {}, {}, {}
  for _, each in ipairs(arrays) do wanted[each] = true end
  for _, access in ipairs(knl:accesses()) do
    for _, loop in ipairs(not access.write and wanted[access.variable] and loops or {}) do
      if access.strides[loop.inner] then
        local text = ("%s[%s]"):format(access.variable, table.concat(access.index, ", "))
        local pattern = renamed(renamed(text, loop.inner, item), loop.outer, part)
        local known = by_pattern[pattern]
        if not known then
          known = {pattern = pattern, array = access.variable, loop = loop, count = 0, met = {}}
          by_pattern[pattern], out[#out + 1] = known, known
        end
        if not known.met[loop] then known.met[loop], known.count = true, known.count + 1 end
      end
    end
  end
  local common = {}
  for _, each in ipairs(out) do
    if each.count > 1 then common[#common + 1] = each end
  end
  return common
end

-- Cuts the reductions over a loop at a value; gives the first part's loop, one for all of them, as the
-- rest has, wherever that is legal.
local function cut_reductions(knl, iname, at, rest)
  local before, first = support.iname_set(knl), nil
  knl = lp.split_reduction_at(knl, iname, tostring(at), {from_iname = rest})
  for _, each in ipairs(knl.inames) do
    local is_rest = each:find("^" .. rest .. "_%d+$") ~= nil
    if not before[each] and each ~= rest then
      if not is_rest and not first then
        first = each
      else
        knl = lp.if_legal(lp.rename_iname, knl, each, is_rest and rest or first, true) or knl
      end
    end
  end
  return knl, first
end

--- Keeps what several loops read of an array, one after the other, in registers of work-items.
---
--- Such are the rows of a softmax: one loop finds the greatest element, one adds up, one writes.
--- Iterations of each loop become work-items along `l.0`, `lanes` apart; so each work-item has the same
--- elements in all of the loops, and reads the first `registers` of them only once. What is beyond,
--- in rows that are longer than `lanes*registers`, is read again by loops of its own.
---
---     for r: s = sum(j, x[r, j]); for k: y[r, k] = x[r, k]/s
---
---     becomes, with two registers    x0 = x[r, l]; x1 = x[r, l + lanes]
---                                    s = x0 + x1 + sum(j_outer >= 2, x[r, l + lanes*j_outer])
---                                    y[r, l] = x0/s; y[r, l + lanes] = x1/s; for k_outer >= 2: …
---
--- A reduction is that of the work-items' parts. Loops that do not read the arrays may be among the
--- loops, and become work-items too.
---
--- Refuses arrays of which no two of the loops read the same elements or that are written in
--- between, reductions over several loops or of two values, and what `tag_inames` refuses for
--- work-items.
---
--- @param arrays (names, required): what is read again
--- @param loops (names, required): the loops over it, of statements or of reductions
--- @option lanes (integer, default 128): work-items along the loops
--- @option registers (integer, default 8): elements that each of them keeps
--- @option unroll (integer, default 1): iterations that the compiler shall unroll of loops over what is
---   beyond, so that many reads are under way at once
--- @return kernel (kernel): the kernel for a device
--- @example
---     kernel share(m: int32, n: int32, x: in float32[m, n], y: out float32[m, n])
---     domain {[r, j, k]: 0 <= r < m and 0 <= j, k < n}
---     temp s: float32
---     for r
---       s = sum(j, x[r, j])
---       y[r, k] = x[r, k]/s
---     end
---
---     local lib = require "moonloop.lib"
---     knl = lib.keep(knl, "x", {"j", "k"}, {lanes = 64, registers = 4})
---     knl = lp.tag_inames(knl, {r = "g.0"})
local function keep(knl, arrays, loops, options)
  support.kernel("keep", knl)
  arrays, loops = support.names("keep", 2, arrays), support.names("keep", 3, loops)
  options = support.options("keep", 4, options, "lanes, registers, unroll")
  local lanes = support.integer("keep", 4, options.lanes or 128, 1)
  local registers = support.integer("keep", 4, options.registers or 8, 1)
  local unroll = support.integer("keep", 4, options.unroll or 1, 1)
  support.check(#arrays > 0, "keep", 2, "no array is given")
  local known = {}
  for _, list in ipairs{knl.args, knl.temporaries} do
    for _, each in ipairs(list) do known[each.name] = true end
  end
  for _, each in ipairs(arrays) do
    support.check(known[each], "keep", 2, "the kernel has no array '%s'", each)
  end
  local parts, tags, trips, met = {}, {}, knl:trips(), {}
  for n, each in ipairs(loops) do
    support.iname("keep", 3, knl, each)
    support.check(not met[each], "keep", 3, "loop '%s' is there twice", each)
    met[each] = true
    local reduced = is_reduced(knl, each)
    support.check(reduced ~= nil, "keep", 3, "no statement is in loop '%s'", each)
    parts[n] = {reduced = reduced, long = (trips[each] or math.huge) > lanes*registers}
  end

  for n, each in ipairs(loops) do
    local loop, rest, inner = parts[n], support.fresh(knl, each .. "_from"), nil
    if loop.long and not loop.reduced then
      knl = lp.split_at(knl, each, tostring(lanes*registers), {from_iname = rest})
      knl, rest, inner = support.split(knl, rest, lanes)
      tags[inner] = "l.0"
    end
    knl, loop.outer, loop.inner = support.split(knl, each, lanes)
    if loop.reduced then knl = lp.split_reduction_outward(knl, loop.inner) end
    if loop.long and loop.reduced then
      knl, loop.outer = cut_reductions(knl, loop.outer, registers, rest)
    end
    if loop.long and unroll > 1 then tags[rest] = "unr_hint." .. unroll end
    tags[loop.outer], tags[loop.inner] = "unr", "l.0"
  end
  local part, item = support.fresh(knl, "part"), support.fresh(knl, "item")
  local kept = common_reads(knl, arrays, parts, part, item)
  support.check(#kept > 0, "keep", 2, "no two of the loops read the same elements of '%s'",
                table.concat(arrays, "', '"))
  for _, each in ipairs(kept) do
    each.rule = support.fresh(knl, each.array .. "_kept")
    knl = lp.extract_subst(knl, each.rule, each.pattern, {parameters = {part, item}})
  end
  for _, each in ipairs(kept) do
    local own = {support.fresh(knl, each.rule .. "_part"), support.fresh(knl, each.rule .. "_item")}
    local use = ("%s(%s, %s)"):format(each.rule, each.loop.outer, each.loop.inner)
    local array = support.fresh(knl, each.rule .. "_0")
    knl = lp.precompute(knl, use, {each.loop.outer, each.loop.inner}, {
      precompute_inames = own, temporary_name = array, temporary_address_space = "private",
      default_tag = "for"})
    for _, rule in ipairs(knl.rules) do  -- of reads beyond
      if rule.name == each.rule then knl = lp.expand_subst(knl, each.rule) end
    end
    tags[own[1]], tags[own[2]] = "unr", "l.0"
  end
  local there = support.iname_set(knl)
  for each in pairs(tags) do  -- those of one iteration need no loop
    if not there[each] then tags[each] = nil end
  end
  return lp.tag_inames(knl, tags)
end

return keep
