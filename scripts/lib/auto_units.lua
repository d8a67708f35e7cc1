-- Blocks of results by matrix units, which take doubles on CUDA: sums of products, several of which add
-- to the same registers, and sums over triangles in whole blocks and the rest. For moonloop.auto alone.
local Blocks = require "moonloop.auto_blocks"
local Facts = require "moonloop.auto_facts"
local Script = require "moonloop.auto_script"

local Units = {}

-- All work-items of a group, 32 of each warp, share the elements of a tile.
local function share(script, inames, tile, warps)
  local why = "all work-items fetch, neighbours along memory"
  local item, lane, rest = tile .. "_item", tile .. "_lane", tile .. "_rest"
  local items = Script.computed("32*%s", {warps}, function(n) return 32*n end)
  return script:try(why, "join_inames", inames, item) and script:try_splits(why, {
    {item, items, {outer_iname = tile .. "_turn", inner_iname = lane}},
    {lane, 32, {inner_iname = rest, outer_tag = "l.2"}},
    {rest, 4, {outer_tag = "l.1", inner_tag = "l.0"}},
  })
end

-- The same for tiles that are not rectangles: a warp has neighbours along the second loop, four or,
-- unless it is the short one, all 32.
local function spread(script, inames, is_short, warps)
  local slow, fast = table.unpack(inames)
  local why = "work-items fetch neighbours along memory"
  local lane, row = fast .. "_lane", slow .. "_row"
  if is_short then
    local rows = Script.computed("8*%s", {warps}, function(n) return 8*n end)
    return script:try_splits(why, {
      {fast, 4, {inner_tag = "l.0"}},
      {slow, rows, {inner_iname = row}},
      {row, 8, {outer_tag = "l.2", inner_tag = "l.1"}},
    })
  end
  return script:try_splits(why, {
    {fast, 32, {inner_iname = lane}},
    {lane, 4, {outer_tag = "l.1", inner_tag = "l.0"}},
    {slow, warps, {inner_tag = "l.2"}},
  })
end

local function walk_along(r)
  return ("the group fetches what it needs for some `%s` at a time into local memory"):format(r)
end

-- Whether the domain of the iname says that its bounds depend on one of these others, as those of the
-- columns of a triangle depend on its rows.
local function are_bounded_by(knl, iname, others)
  local function has(list, name) return list:find("%f[%w_]" .. name .. "%f[^%w_]") end
  for _, each in ipairs(knl.domains) do
    local params, dims = each:match "^%[(.-)%] %-> { %[(.-)%]"
    if dims and has(dims, iname) then
      for _, other in ipairs(others) do
        if has(params, other) then return true end
      end
    end
  end
  return false
end

-- The group fetches what a rule gives for a block along one axis and some terms of the reduction into a
-- tile, for matrix units. `sizes` has the axes `u` and `v`, how long blocks along them are, and so on.
-- Gives the tile, how long its rows are and the reduction.
local function fetch(script, rule, inames_of, sizes)
  local tile = Blocks.tile_for(script, rule)
  local axis, r, short
  local names, inames = {}, {}  -- of all parameters, and of those that a group runs over
  for i, each in ipairs(rule.params) do
    names[i] = tile .. "_" .. each
    local is_axis, is_reduced = each == sizes.u or each == sizes.v, Facts.contains(sizes.reductions, each)
    if is_axis or is_reduced then
      inames[#inames + 1] = names[i]
      short = is_reduced
    end
    if is_axis then axis = each end
  end
  for _, update in ipairs(sizes.updates) do
    if update.text:find(rule.name .. "(", 1, true) then r = r or update.r end
  end
  if #inames ~= 2 or not axis or not r then return false end
  local walk = walk_along(r)
  local options = {default_tag = false, precompute_inames = names, temporary_name = tile}
  local function fetched(...)
    local swept = {}
    for _, list in ipairs{...} do table.move(list, 1, #list, #swept + 1, swept) end
    return script:try(walk, "precompute", rule.name, swept, options)
  end
  local terms = {r .. "_step", r .. "_unit"}
  local own = axis == sizes.u and inames_of.rows or inames_of.columns
  local function fetched_own() return fetched(own, terms) end
  -- The bounds or conditions of terms may depend on both axes.
  local function fetched_all() return fetched(inames_of.rows, inames_of.columns, terms) end
  local other = own == inames_of.rows and inames_of.columns or inames_of.rows
  local first, second = fetched_own, fetched_all
  if are_bounded_by(script.knl, own[1], other) then first, second = second, first end
  if not first() and not second() then return false end
  if not share(script, inames, tile, sizes.warps)
      and not spread(script, inames, short, sizes.warps) then
    return false
  end
  local row = short and sizes.steps or axis == sizes.u and sizes.of_u or sizes.of_v
  return {name = tile, row = row, r = r}
end

-- For so many pairs of tiles a group has local memory; products of the same block of a recurrence are
-- one kernel's, and each has half of it.
local kPairs = 4

-- What the group fetches for some terms comes in while it adds up those before: in sums without guards,
-- which are the long ones, or in all where each has some. `tiles` as of `fetch`; notes in them which
-- have stages. Gives the script.
local function fetch_ahead(script, tiles, updates, pairs)
  local long = {}
  for _, update in ipairs(updates) do
    if update.is_plain then long[#long + 1] = update end
  end
  if #long == 0 then long = updates end
  local stages = math.min(3, 1 + (pairs - -(-#tiles // 2)) // #long)
  if stages < 2 then return script end
  local own = script:fork()
  local knob = own:knob(long[1].r .. "_stages", {2, 3, 4}, stages)
  local done = {}
  for _, update in ipairs(long) do
    local loop, sum = update.r .. "_block", nil
    for _, each in ipairs(own.knl.instructions) do
      if Facts.contains(each.reduction_inames, loop) then sum = each.id end
    end
    local why = ("the group fetches for the next `%s` meanwhile"):format(loop)
    if sum and not own:try(why, "realize_reduction", "id:" .. sum)
        or not own:try(why, "pipeline", loop, {stages = knob}) then
      return script
    end
    done[update.r] = true
  end
  for _, tile in ipairs(tiles) do tile.has_stages = done[tile.r] end
  return own
end

local function pad(script, tile)
  local axes = tile.has_stages and "N1, N0(pad=%d), N2" or "N1, N0(pad=%d)"
  local padded = Script.computed(
    ('("%s"):format(%%s + 4)'):format(axes:gsub("%%", "%%%%")), {tile.row},
    function(n) return axes:format(n + 4) end)
  return script:try("rows of the tile are apart, past conflicts of banks", "tag_array_axes", tile.name, padded)
end

-- The terms of a sum along `r`; nothing where no instruction has one.
local function terms_of(knl, r)
  for _, each in ipairs(knl.instructions) do
    for sum in (each.rhs or ""):gmatch "sum(%b())" do
      local terms = sum:match("^%(" .. r .. ", (.*)%)$")
      if terms then return terms end
    end
  end
  return nil
end

-- How many products a sum of products of two numbers has in each term, if these are read through
-- rules, without conditions; else 0.
local function plain_products(knl, r)
  local count = 0
  for term in ((terms_of(knl, r) or "") .. " + "):gmatch "(.-) %+ " do
    if not term:match "^[%w_]+%b()%*[%w_]+%b()$" then return 0 end
    count = count + 1
  end
  return count
end

local function has_plain_product(knl, r) return plain_products(knl, r) > 0 end

-- The reductions that the second kernel has in the place of `r`.
local function parts_of_cut(before, after, r)
  local known, out = {}, {}
  for _, each in ipairs(before.instructions) do
    for _, iname in ipairs(each.reduction_inames) do known[iname] = iname ~= r end
  end
  for _, each in ipairs(after.instructions) do
    for _, iname in ipairs(each.reduction_inames) do
      if not known[iname] and not Facts.contains(out, iname) then out[#out + 1] = iname end
    end
  end
  return out
end

-- Rounds loops up to whole blocks. Sums whose bounds are within blocks, as of triangles, are cut at
-- the border of a block along `u` or `v`: then the terms of whole blocks need no guards. Gives the
-- reductions, or nothing if no sum is without guards.
local function whole_blocks(self, block, sizes, steps)
  local function rounded(script, reductions)
    local multiples = {[block.u] = sizes[block.u], [block.v] = sizes[block.v]}
    for _, r in ipairs(reductions) do multiples[r] = steps end
    return script:try(Blocks.why_whole, "round_up", multiples)
  end
  local function plain(script, reductions)
    local count = 0
    for _, r in ipairs(reductions) do count = count + (has_plain_product(script.knl, r) and 1 or 0) end
    return count
  end
  local reductions = block.rs
  local trial = self.script:fork()
  if not rounded(trial, reductions) then return nil end
  if plain(trial, reductions) == #reductions then
    self.script = trial
    return reductions
  end
  for _, r in ipairs(block.rs) do
    local cut = nil
    if has_plain_product(trial.knl, r) then cut = false end
    for _, iname in ipairs{block.u, block.v} do
      for _, behind in ipairs{0, 1} do
        if cut == nil then
          local text = ("%%%%d*(%s // %%%%d%s)"):format(iname, behind == 1 and " + 1" or "")
          local at = Script.computed(
            ('("%s"):format(%%s, %%s)'):format(text), {sizes[iname], sizes[iname]},
            function(n) return text:format():format(n, n) end)
          local why = ("the sum along `%s` in whole blocks along `%s`, and the rest of it")
            :format(r, iname)
          local own = self.script:fork()
          if own:try(why, "split_reduction_at", r, at) then
            local parts = parts_of_cut(self.script.knl, own.knl, r)
            local others = Facts.without(reductions, r)
            table.move(parts, 1, #parts, #others + 1, others)
            local next = own:fork()
            if rounded(next, others) and plain(next, others) > plain(trial, reductions) then
              self.script, trial, reductions, cut = own, next, others, true
            end
          end
        end
      end
    end
  end
  if plain(trial, reductions) == 0 then return nil end
  self.script = trial
  return reductions
end

-- The instruction that has all of these sums and nothing else: they are added up in one place.
local function sum_of(knl, reductions)
  for _, each in ipairs(knl.instructions) do
    local all = #each.reduction_inames == #reductions
    for _, r in ipairs(reductions) do all = all and Facts.contains(each.reduction_inames, r) end
    if all and each.rhs:match "^sum%b()" then return each end
  end
  return nil
end

-- Where there are several sums, or products in a term, each adds to the same temporary in a loop of its
-- own. Gives these loops, each with the right side of what adds there.
local function updates_of(script, reductions)
  local out, products = {}, 0
  for _, r in ipairs(reductions) do
    products = products + math.max(1, plain_products(script.knl, r))
    out[#out + 1] = {r = r, is_plain = plain_products(script.knl, r) == 1, text = terms_of(script.knl, r)}
  end
  local sum = products > 1 and sum_of(script.knl, reductions)
  if not sum or not script:try("all products are added up in the same registers", "unfold_reduction",
                               "id:" .. sum.id, {each_term = true}) then
    return out
  end
  out = {}
  local around = {}
  for _, iname in ipairs(sum.inames) do around[iname] = true end
  for _, each in ipairs(script.knl.instructions) do
    local before = (each.lhs or {})[1] == sum.lhs[1] and sum.lhs[1] .. " + "
    local product = before and each.rhs:sub(1, #before) == before and each.rhs:sub(#before + 1)
    for _, iname in ipairs(product and each.inames or {}) do
      if not around[iname] then
        local is_plain = product:match "^[%w_]+%b()%*[%w_]+%b()$" ~= nil
        out[#out + 1] = {r = iname, is_plain = is_plain, text = product}
      end
    end
  end
  return out
end

-- A warp is 4 work-items along columns by 8 along rows, each with elements of two rows, 8 apart, and of
-- two neighbouring columns, and adds four terms at once. `ahead`: the next ones come in meanwhile.
function Units.make(self, block, ahead)
  local u, v = block.u, block.v
  local groups = 1  -- of blocks of 64 by 64 elements
  for _, iname in ipairs(block.around) do
    local length = (iname == u or iname == v) and 64 or 1
    groups = groups*-(-(block.trips[iname] or Blocks.kGroups*length) // length)
  end
  -- Too few for a device: smaller blocks without matrix units leave less of it idle.
  if groups < Blocks.kGroups // 2 then return false end
  local own = self.script
  self.script = own:fork()
  local warps = self.script:knob(u .. "_warps", {1, 2, 4, 8}, 4)
  local columns = self.script:knob(v .. "_columns", {16, 32, 64, 128}, 64)
  local steps = self.script:knob(block.rs[1] .. "_steps", {8, 16, 32}, 8)
  local rows = Script.computed("16*%s", {warps}, function(n) return 16*n end)
  local before = self.script.knl
  local reductions = whole_blocks(self, block, {[u] = rows, [v] = columns}, steps)
  if not reductions then return false end
  local script = self.script
  local why = ("a group computes a block along `%s` and `%s` by matrix units"):format(u, v)
  local rules = Blocks.new_rules(before, script.knl)
  local updates = updates_of(script, reductions)
  local of_u = {u .. "_warp", u .. "_half", u .. "_row"}
  local of_v = {v .. "_part", v .. "_column", v .. "_pair"}
  local splits = {
    {u, rows, {outer_iname = u .. "_block", inner_iname = u .. "_in", outer_tag = "g.1"}},
    {u .. "_in", 16, {outer_iname = of_u[1], inner_iname = u .. "_rest", outer_tag = "l.2"}},
    {u .. "_rest", 8,
     {outer_iname = of_u[2], inner_iname = of_u[3], outer_tag = "ilp", inner_tag = "l.1"}},
    {v, columns, {outer_iname = v .. "_block", inner_iname = v .. "_in", outer_tag = "g.0"}},
    {v .. "_in", 8, {outer_iname = of_v[1], inner_iname = v .. "_rest", outer_tag = "ilp"}},
    {v .. "_rest", 2,
     {outer_iname = of_v[2], inner_iname = of_v[3], outer_tag = "l.0", inner_tag = "vec"}},
  }
  local third = Facts.without(Facts.without(block.around, u), v)
  local tags = #third > 0 and {[third[#third]] = "g.2"} or {}
  for _, update in ipairs(updates) do
    local r, walk = update.r, walk_along(update.r)
    splits[#splits + 1] = {r, steps, {outer_iname = r .. "_block", inner_iname = r .. "_in"}, why = walk}
    splits[#splits + 1] = {
      r .. "_in", 4,
      {outer_iname = r .. "_step", inner_iname = r .. "_unit", outer_tag = "unr",
       inner_tag = update.is_plain and "mma" or "unr"}, why = walk,
    }
  end
  if not script:try_splits(why, splits, tags) then return false end
  local tiles = {}
  for _, rule in ipairs(rules) do
    local tile = fetch(script, rule, {rows = of_u, columns = of_v},
                 {u = u, v = v, warps = warps, steps = steps, of_u = rows, of_v = columns,
                  reductions = reductions, updates = updates})
    if not tile then return false end
    tiles[#tiles + 1] = tile
  end
  if ahead then
    script = fetch_ahead(script, tiles, updates,
                         (self.recurrence or self.narrow) and kPairs // 2 or kPairs)
    self.script = script
  end
  for _, tile in ipairs(tiles) do
    if not pad(script, tile) then return false end
  end
  return true
end

return Units
