-- `lp.auto(knl, options)`: a schedule that nobody wrote. Gives the kernel, and the script that makes
-- it, as text.
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
    return Memory.of(knl, "accepted", function() return (pcall(knl.code, knl, target)) end)
  end
  local prefix = options.prefix or ""
  local function scheduled(accepts, narrow)
    return schedule(Script.of(knl, prefix),
                    {params = params, called = options.called, accepts = accepts, narrow = narrow,
                     target = target})
  end
  local script = scheduled()
  if not accepts(script.knl) then
    -- Nests of one launch may take more local memory than there is; or some step is not supported.
    script = scheduled(nil, true)
    if not accepts(script.knl) then script = scheduled(accepts) end
  end
  local sizes = next(params) and " of about " .. list_of(params) or ""
  local head = ("`moonloop auto` for `%s` on %s%s"):format(knl.name, target, sizes)
  return script:tuned(), script:text(head)
end
