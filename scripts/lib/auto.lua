-- `lp.auto(knl, options)`: a schedule that nobody wrote. Gives the kernel, and the script that makes
-- it, as text.
local lp = require "moonloop"
local Memory = require "moonloop.auto_memory"
local support = require "moonloop.support"
local Script = require "moonloop.auto_script"
local Cpu = require "moonloop.auto_cpu"
local Device = require "moonloop.auto_device"

local function on_device(script, options)
  if not options.called then return Device.schedule(script, options) end
  script:note "the work-item that calls it runs its loops in order"
  return script
end

-- Tasks for threads, lanes of gangs for vectors.
local function on_gangs(script, options)
  options.threads, options.gangs = not options.called, true
  return Cpu.schedule(script, options)
end

local kTargets = {
  c = Cpu.schedule,
  openmp = function(script, options)
    options.threads = not options.called  -- those of its callers
    return Cpu.schedule(script, options)
  end,
  cuda = on_device,
  ispc = on_gangs,
  opencl = on_device,
}

local kOfCores = {c = true, openmp = true}

local function list_of(params)
  local names, out = {}, {}
  for name in pairs(params) do names[#names + 1] = name end
  table.sort(names)
  for i, name in ipairs(names) do out[i] = ("%s = %s"):format(name, params[name]) end
  return table.concat(out, ", ")
end

local function check_params(knl, params)
  support.check(type(params) == "table", "auto", 2,
                "option 'params': table of integers by name expected, got %s", type(params))
  local known, names = {}, {}
  local function add(name)
    if not known[name] then known[name], names[#names + 1] = true, name end
  end
  for _, name in ipairs(knl.params) do add(name) end
  for _, each in ipairs(knl.args) do
    if not each.shape and each.type and each.type:find "^u?int" then add(each.name) end
  end
  for name in pairs(params) do
    support.check(known[name], "auto", 2, "kernel '%s' has no integer '%s'; it has %s", knl.name,
                  name, table.concat(names, ", "))
  end
end

-- The predicted cost of a call, on a machine that is the same everywhere; nothing where the model
-- cannot tell, or simplifies.
local function predicted(knl, target, params)
  local known, cost = pcall(lp.cost, knl, {target = target, params = params, device = "assumed"})
  return known and #cost.remarks == 0 and cost or nil
end

-- What a prediction has to be better by; and seconds of the source from which on starts of threads
-- and of loops do not matter, and steps that reuse what is in caches pay more than the model knows.
local kClearly, kLong = 1.25, 1e-2

-- The script, or where its sizes are so small that another order clearly costs less, that of one
-- thread, as `alone` makes it, or of the source.
local function best(script, alone, first, target, params)
  if #script.steps == 0 then return script end
  local source = predicted(first, target, params)
  if not source or source.seconds >= kLong then return script end
  local own = predicted(script.knl, target, params)
  if not own then return script end
  local seconds = own.seconds
  local starts = 0
  for _, bound in ipairs(own.bounds) do
    if bound.name == "launches" then starts = bound.binding end
  end
  if alone and starts*kClearly > seconds*(kClearly - 1) then
    local one = alone()
    local cost = predicted(one.knl, target, params)
    if cost and cost.seconds*kClearly <= seconds then
      script, seconds = one, cost.seconds
      script:note "threads would take longer to start than they save"
    end
  end
  if source.seconds*kClearly <= seconds then
    script = Script.of(first, script.prefix)
    script:note "the order of the source: at these sizes other ones are predicted to cost more"
  end
  return script
end

-- `default`: the target that the command asks for.
return function(knl, options, default)
  support.kernel("auto", knl)
  options = support.options("auto", 2, options, "called, params, prefix, target")
  local target = options.target or default
  local schedule = kTargets[target]
  support.check(schedule, "auto", 2,
                "no schedules for target '%s'; there are some for c, openmp, opencl, cuda and ispc",
                target)
  local params = options.params or {}
  check_params(knl, params)
  local memory <close> = Memory.open()
  local function accepts(knl)
    return Memory.of(knl, "accepted", function() return knl:has_code(target) end)
  end
  local prefix = options.prefix or ""
  local function scheduled(accepts, narrow, by)
    return (by or schedule)(Script.of(knl, prefix),
                            {params = params, called = options.called, accepts = accepts,
                             narrow = narrow, target = target})
  end
  local script = scheduled()
  if not accepts(script.knl) then
    -- Nests of one launch may take more local memory than there is; or some step is not supported.
    script = scheduled(nil, true)
    if not accepts(script.knl) then script = scheduled(accepts) end
  end
  if next(params) and kOfCores[target] then
    local function alone() return scheduled(accepts, false, kTargets.c) end
    script = best(script, target == "openmp" and not options.called and alone, knl, target, params)
  end
  local sizes = next(params) and " of about " .. list_of(params) or ""
  local head = ("`moonloop auto` for `%s` on %s%s"):format(knl.name, target, sizes)
  return script:tuned(), script:text(head)
end
