local lp = require "moonloop"
local support = require "moonloop.support"

local function has(list, name)
  for _, each in ipairs(list) do
    if each == name then return true end
  end
  return false
end

-- The only statement with a reduction over `iname`, or nothing.
local function reduced_in(knl, iname)
  local found
  for _, insn in ipairs(knl.instructions) do
    if has(insn.reduction_inames, iname) then
      if found then return nil, ("the sums of '%s' and '%s'"):format(found.id, insn.id) end
      found = insn
    end
  end
  return found, "no sum"
end

-- Adds blocks of `length` terms to the result one after the other. What they are added to is
-- assigned first, in loops of its own: gives these, and the present names of the others.
local function cut_terms(knl, id, terms, length, rows, lanes)
  local known, first = {}, nil
  for _, insn in ipairs(knl.instructions) do
    known[insn.id] = true
    for _, iname in ipairs(insn.id == id and insn.inames or {}) do
      if not first and (iname == rows or iname == lanes) then first = iname end
    end
  end
  local block, term
  knl, block, term = support.split(knl, terms, length)
  knl = lp.split_reduction_outward(knl, block, "id:" .. id)
  knl = lp.unfold_reduction(knl, "id:" .. id)
  for _, base in ipairs(knl.instructions) do
    if not known[base.id] then
      knl = lp.distribute_loops(knl, first, {"id:" .. base.id, "id:" .. id},
                                {suffixes = {"_base", "_sum"}})
      return knl, block, term, rows .. "_sum", lanes .. "_sum", first .. "_base"
    end
  end
  return knl, block, term, rows, lanes
end

--- Computes a product of matrices in registers, from packed copies of both factors.
---
---     c[i, j] = sum(k, a[i, k]*b[k, j])    with {i = 8, j = 24, k = 512} becomes, for blocks of k,
---     copy b, 24 columns side by side; for blocks of i: copy a, 8 rows side by side;
---       for all panels of 24 columns and 8 rows: 8 times 24 sums in registers, added to c
---
--- Any sum whose terms are products of what goes along one loop and of what goes along another,
--- of any sizes (`round_up`): copies have zeros beyond the ends. What depends on both loops or on
--- neither is read where it is.
---
--- Vectors of results follow the loop of the lanes. Their number times that of the rows is to fit in
--- the processor's registers: with AVX-512, 8 rows of 24 lanes in double and 48 in single precision;
--- with AVX2, 4 of 12 and 24. Without a size for the loop of the sum, all terms are one block. Blocks
--- of `c[i, j] = beta*c[i, j] + alpha*sum(...)` are each scaled by alpha.
---
--- Refuses loops of which none or more than one is that of a sum, a sum whose order counts, and what
--- the steps refuse: results that are terms of others, for example.
---
--- @param sizes (integers by name, required): rows and lanes in registers, and the terms of a block:
---   {i = 8, j = 24, k = 512}
--- @param terms (string, required): the loop of the sum
--- @option lanes (string, default the later one of both other loops): the loop along which results
---   are vectors
--- @option panels (integer, default 16): how many times the rows are in a block of them
--- @option tag (string): tag of the loops over blocks of rows, and of what is copied: `par`
--- @return kernel (kernel): the kernel with blocks and copies
--- @example
---     kernel product(n: int32, a: in float64[n, n], b: in float64[n, n], c: out float64[n, n])
---     domain {[i, j, k]: 0 <= i, j, k < n}
---     c[i, j] = sum(k, a[i, k]*b[k, j])
---
---     local lib = require "moonloop.lib"
---     knl = lib.packed_product(knl, {i = 8, j = 24, k = 512}, "k", {tag = "par"})
local function packed_product(knl, sizes, terms, options)
  support.kernel("packed_product", knl)
  local inames = support.sizes("packed_product", 2, knl, sizes)
  support.iname("packed_product", 3, knl, terms)
  options = support.options("packed_product", 4, options, "lanes, panels, tag")
  local panels = support.integer("packed_product", 4, options.panels or 16, 1)
  local insn, why = reduced_in(knl, terms)
  support.check(insn, "packed_product", 3, "'%s' is the loop of %s, not of one", terms, why)
  local both = {}
  for _, iname in ipairs(inames) do
    if iname ~= terms then both[#both + 1] = iname end
  end
  support.check(#both == 2, "packed_product", 2,
                "sizes of two loops beside '%s' are needed, not of %d", terms, #both)
  local rows, lanes = both[1], both[2]
  if options.lanes then
    support.check(has(both, options.lanes), "packed_product", 4,
                  "the lanes are '%s' or '%s', not '%s'", rows, lanes, options.lanes)
    if options.lanes == rows then rows, lanes = lanes, rows end
  end

  local row_count, lane_count, id = sizes[rows], sizes[lanes], insn.id
  local block, base
  if sizes[terms] then
    knl, block, terms, rows, lanes, base =
      cut_terms(knl, id, terms, sizes[terms], rows, lanes)
  end
  local plain = {}
  for _, rule in ipairs(knl.rules) do plain[rule.name] = true end
  knl = lp.round_up(knl, {[rows] = row_count, [lanes] = lane_count})
  local all_rows, row, row_block, row_panel, lane_panel, lane
  knl, all_rows, row = support.split(knl, rows, row_count, {inner_tag = "ilp"})
  knl, row_block, row_panel = support.split(knl, all_rows, panels)
  knl, lane_panel, lane = support.split(knl, lanes, lane_count, {inner_tag = "vec"})
  local order = {row_block, lane_panel, row_panel}
  if block then table.insert(order, 1, block) end
  knl = lp.prioritize_loops(knl, order)

  local tagged = {row_block}
  for _, rule in ipairs(knl.rules) do
    local of_rows, of_lanes = has(rule.params, rows), has(rule.params, lanes)
    if not plain[rule.name] and of_rows ~= of_lanes then
      local axes = of_rows and {row_panel, terms, row} or {lane_panel, terms, lane}
      local name = support.fresh(knl, rule.name:gsub("_read", "") .. "_pack")
      local loops = {name .. "_panel", name .. "_term", name .. (of_rows and "_row" or "_lane")}
      knl = lp.precompute(knl, rule.name, axes, {
        storage_axes = axes, precompute_inames = loops, temporary_name = name})
      if of_lanes then tagged[#tagged + 1] = loops[1] end
    end
  end
  if base then tagged[#tagged + 1] = base end
  if not options.tag then return knl end
  local tags = {}
  for _, iname in ipairs(tagged) do tags[iname] = options.tag end
  return lp.tag_inames(knl, tags)
end

return packed_product
