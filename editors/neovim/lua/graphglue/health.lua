-- :checkhealth graphglue: what was found, and what to do about what was not.
local client = require("graphglue.client")
local options = require("graphglue.options")
local project = require("graphglue.project")
local server = require("graphglue.server")

local M = {}

local DOCTOR_MS, STATUS_MS = 60000, 2000

local health = vim.health or require("health")
local start = health.start or health.report_start
local ok = health.ok or health.report_ok
local info = health.info or health.report_info
local warn = health.warn or health.report_warn
local fail = health.error or health.report_error

---@param command string[]
---@param folder string
---@return integer exit code; negative: it did not run, or not to its end
---@return string output
local function run(command, folder)
  local out = {}
  local job = vim.fn.jobstart(command, {
    cwd = folder,
    stdout_buffered = true,
    on_stdout = function(_, lines)
      out = lines
    end,
  })
  local code = job > 0 and vim.fn.jobwait({ job }, DOCTOR_MS)[1] or -1
  if code == -1 and job > 0 then
    vim.fn.jobstop(job)
  end
  return code, table.concat(out, "\n")
end

---@return string[] of the Python buffers; with none of them, of the current folder
local function roots()
  local found = {}
  for _, buffer in ipairs(vim.api.nvim_list_bufs()) do
    local is_ours = vim.api.nvim_buf_is_loaded(buffer)
      and vim.tbl_contains(options.get().filetypes, vim.bo[buffer].filetype)
    local root = is_ours and project.root(buffer)
    if root and not vim.tbl_contains(found, root) then
      found[#found + 1] = root
    end
  end
  return #found > 0 and found or { project.root(vim.api.nvim_create_buf(false, true)) }
end

---@return string|nil program
local function check_server()
  start("graphglue: server")
  local found = server.find(client.cmd())
  if not found.cmd then
    fail("graphglue-lsp was not found; looked at: " .. table.concat(found.tried, ", "), {
      "install it, in a checkout of graphglue-lsp: pip install . (into the environment that has torch), or script/demo",
      "start Neovim in that environment",
      'name it: require("graphglue").setup({ cmd = { "/path/to/graphglue-lsp", "--stdio" } })',
    })
    return nil
  end
  local program = found.cmd[1]
  local code, said = run({ program, "--version" }, "/")
  if code ~= 0 then
    fail(("%s (%s) does not run: status %d"):format(program, found.from, code), {
      "run it in a terminal: " .. program .. " --version",
    })
    return nil
  end
  ok(("%s (%s): %s"):format(program, found.from, vim.trim(said)))
  return program
end

---@param root string
---@return table|nil its client
local function check_client(root)
  for _, c in ipairs(client.all()) do
    if client.root_of(c) == root then
      ok("the server runs, client " .. c.id)
      return c
    end
  end
  warn("no server runs for it", {
    "open a Python file of it; the plugin starts at the first one",
    'call require("graphglue").setup() in init.lua',
    ":GraphglueRestart; its log is " .. client.log_path(),
  })
end

-- What a server's worker runs with, once it does: that is what is used, whatever the doctor would find.
---@param running table|nil a client
---@return boolean
local function check_worker(running)
  local answer
  if running then
    client.request(running, "workspace/executeCommand", { command = "graphglue.status" }, function(_, result)
      answer = result
    end)
    vim.wait(STATUS_MS, function()
      return answer ~= nil
    end, 10)
  end
  local worker = answer and answer.workers[1]
  if not worker or worker.state ~= "ready" or worker.torch == vim.NIL then
    return false
  end
  ok("Python: " .. worker.python)
  ok("torch " .. worker.torch)
  return true
end

---@param program string
---@param root string
local function check_python(program, root)
  local python = options.python()
  local command = { program, "doctor", "--json" }
  if python then
    vim.list_extend(command, { "--python", python })
  end
  local code, said = run(command, root)
  local decoded, seen = pcall(vim.fn.json_decode, said)
  if not decoded or type(seen) ~= "table" then
    fail(("graphglue-lsp doctor ended with status %d"):format(code), { ":GraphglueDoctor shows what it says" })
    return
  end
  if seen.interpreter and seen.interpreter ~= vim.NIL then
    local version = seen.python and seen.python ~= vim.NIL and " " .. seen.python or ""
    ok(("Python%s: %s (%s)"):format(version, seen.interpreter, tostring(seen.why)))
  end
  if seen.torch and seen.torch ~= vim.NIL then
    ok(("torch %s, ready in %.1f s"):format(seen.torch, seen.ready_seconds or 0))
    return
  end
  local advice = {}
  for _, other in ipairs(seen.found or {}) do
    if other.torch and other.torch ~= vim.NIL then
      advice[#advice + 1] = ('setup({ settings = { python = "%s" } }): it has torch %s'):format(
        other.interpreter,
        other.torch
      )
    end
  end
  advice[#advice + 1] = "start Neovim in the environment that has torch, or install torch there"
  advice[#advice + 1] = ":GraphglueDoctor says more"
  local why = seen.torch_error and seen.torch_error ~= vim.NIL and seen.torch_error or "unknown"
  fail("torch cannot be used: " .. vim.split(why, "\n")[1], advice)
end

function M.check()
  local program = check_server()
  for _, root in ipairs(roots()) do
    start("graphglue: " .. root)
    local running = check_client(root)
    if project.is_trusted(root) then
      ok("trusted: its code may be run")
      if not check_worker(running) and program then
        check_python(program, root)
      end
    else
      warn("not trusted: only what the text tells is shown, nothing is run", {
        ":GraphglueTrust in one of its buffers, once you trust its code",
      })
      info("Python and torch: not asked, as a project may name its own interpreter")
    end
  end
end

return M
