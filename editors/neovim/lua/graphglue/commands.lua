-- What the user's commands do.  plugin/graphglue.lua names them.
local client = require("graphglue.client")
local options = require("graphglue.options")
local project = require("graphglue.project")
local server = require("graphglue.server")
local window = require("graphglue.window")

local M = {}

local WARN = vim.log.levels.WARN
local CANCELED = -32800

-- Commands after which the server says itself what went wrong.
local SPEAK = {
  ["graphglue.glue"] = true,
  ["graphglue.glueAll"] = true,
  ["graphglue.writeInputs"] = true,
  ["graphglue.showPrompt"] = true,
}

---@return table|nil
local function running()
  local found = client.of(vim.api.nvim_get_current_buf())
  if not found then
    client.say("not running in this buffer; :checkhealth graphglue says why", WARN)
  end
  return found
end

---@return boolean
local function may_run()
  local root = project.root(0)
  if not project.is_trusted(root) then
    client.say(("nothing of %s is run before you say :GraphglueTrust"):format(root), WARN)
    return false
  end
  return true
end

--- Asks the server of this buffer.
---@param command string
---@param argument any
---@param on_result fun(result: any)|nil
local function execute(command, argument, on_result)
  local found = running()
  if not found then
    return
  end
  local params = { command = command, arguments = argument ~= nil and { argument } or nil }
  client.request(found, "workspace/executeCommand", params, function(err, result)
    if err and err.code ~= CANCELED and not SPEAK[command] then
      client.say(err.message, WARN)
    elseif not err and on_result then
      on_result(result)
    end
  end, vim.api.nvim_get_current_buf())
end

--- The same, about this buffer's file, in a project whose code may be run.
---@param command string
---@param on_result fun(result: any)|nil
local function run(command, on_result)
  if may_run() then
    execute(command, vim.uri_from_bufnr(0), on_result)
  end
end

function M.trust()
  local root = project.root(0)
  if not project.is_trusted(root) then
    project.allow(root)
    client.restart()
  end
  client.say("the code of " .. root .. " may be run: its graph breaks are looked for now")
end

function M.distrust()
  local root = project.root(0)
  project.forbid(root)
  client.restart()
  if project.is_trusted(root) then
    client.say(root .. " is still trusted: setup() or a folder above it says so", WARN)
  else
    client.say("the code of " .. root .. " is not run any more")
  end
end

function M.restart()
  client.restart()
end

--- Looks for graph breaks in the current buffer now, whatever `capture.run` says.
function M.analyze()
  run("graphglue.capture")
end

function M.glue_all()
  run("graphglue.glueAll")
end

function M.write_inputs()
  run("graphglue.writeInputs")
end

---@param as_picture boolean
function M.show_graph(as_picture)
  local name = vim.fn.fnamemodify(vim.api.nvim_buf_get_name(0), ":t")
  run("graphglue.showGraph", function(result)
    local entries = result and result.entries or {}
    if #entries == 0 then
      client.say("nothing of " .. name .. " was run: has it example inputs? :GraphglueWriteInputs", WARN)
    elseif as_picture then
      M.show_pictures(entries)
    else
      local texts = vim.tbl_map(function(entry)
        return entry.text
      end, entries)
      window.document("graphs/" .. name, table.concat(texts, "\n"))
    end
  end)
end

---@param entries table[]
function M.show_pictures(entries)
  for _, entry in ipairs(entries) do
    local path = vim.fn.tempname() .. ".svg"
    vim.fn.writefile(vim.split(entry.svg, "\n"), path)
    if
      vim.ui.open and vim.ui.open(path)
      or vim.fn.executable("xdg-open") == 1 and vim.fn.jobstart({ "xdg-open", path }) > 0
    then
      client.say(entry.title)
    else
      client.say("the picture is " .. path)
    end
  end
end

function M.show_repair_log()
  execute("graphglue.showRepairLog", nil, function(result)
    window.document("repair-log", result.text)
  end)
end

-- ---- a break ---------------------------------------------------------------------------------------------------------

--- The finding at the cursor, else the first one on its line; told where there is none.
---@return table|nil
local function finding_at_cursor()
  local row, column = unpack(vim.api.nvim_win_get_cursor(0))
  local best
  for _, d in ipairs(vim.diagnostic.get(0, { lnum = row - 1 })) do
    local is_at = d.col <= column and column < (d.end_lnum == d.lnum and d.end_col or math.huge)
    if d.source == "graphglue" and (best == nil or is_at) then
      best = d
    end
  end
  if best == nil then
    client.say("no graph break on this line")
  end
  return best
end

--- Mends that break; of several edits that are offered, one is chosen.
function M.glue()
  local finding = may_run() and running() and finding_at_cursor()
  if not finding then
    return
  end
  vim.api.nvim_win_set_cursor(0, { finding.lnum + 1, finding.col }) -- what is offered is asked for there
  local function is_ours(action)
    return vim.startswith(action.title or "", "Glue this graph")
  end
  if vim.fn.has("nvim-0.8") == 1 then
    vim.lsp.buf.code_action({ filter = is_ours, apply = true })
  else
    vim.lsp.buf.code_action({ only = { "quickfix" } })
  end
end

---@param id string|nil GB0170, or a rule's GG002; nil: the finding at the cursor
function M.explain(id)
  if id and id ~= "" then
    local program = server.program(client.cmd())
    if program then
      window.float(vim.fn.system({ program, "explain", id }))
    else
      client.is_there()
    end
    return
  end
  local found = running()
  local finding = found and finding_at_cursor()
  if not finding then
    return
  end
  local encoding = found.offset_encoding or "utf-16"
  local params = {
    textDocument = vim.lsp.util.make_text_document_params(),
    position = {
      line = finding.lnum,
      character = vim.lsp.util.character_offset(0, finding.lnum, finding.col, encoding),
    },
  }
  client.request(found, "textDocument/hover", params, function(_, result)
    local value = result and result.contents and result.contents.value
    window.float(value or finding.message)
  end, vim.api.nvim_get_current_buf())
end

-- ---- the command line ------------------------------------------------------------------------------------------------

---@param words string[] after the program's name
---@param on_exit fun(code: integer)|nil
local function in_terminal(words, on_exit)
  local program = server.program(client.cmd())
  if program and may_run() then
    window.terminal(vim.list_extend({ program }, words), project.root(0), on_exit)
  elseif not program then
    client.is_there()
  end
end

---@return string|nil
local function python()
  local set = options.get().settings.python
  return set and vim.fn.expand(set)
end

--- Which Python, torch and CUDA are used.
function M.doctor()
  in_terminal(vim.list_extend({ "doctor" }, python() and { "--python", python() } or {}))
end

--- Runs this buffer's file, or the given program, and keeps what its modules are called with.
---@param given string[]
function M.record(given)
  local buffer = vim.api.nvim_get_current_buf()
  local program = #given > 0 and given or { python() or "python3", vim.api.nvim_buf_get_name(buffer) }
  in_terminal(vim.list_extend({ "record", "--" }, program), function(code)
    if code == 0 and vim.api.nvim_buf_is_loaded(buffer) then
      vim.api.nvim_buf_call(buffer, M.analyze)
    end
  end)
end

return M
