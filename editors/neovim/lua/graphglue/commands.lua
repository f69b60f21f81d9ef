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
  if not found and not client.is_ours(vim.api.nvim_get_current_buf()) then
    client.say("this is no Python file: go to one's window first", WARN)
  elseif not found then
    client.say("not running here; :checkhealth graphglue says why", WARN)
  end
  return found
end

---@return boolean
local function may_run()
  if not project.is_trusted(project.root(0)) then
    client.say("nothing is run before you say :GraphglueTrust", WARN)
    return false
  end
  return true
end

--- The client of this buffer, where the project's code may be run; else its user is told.
---@return table|nil
local function ready()
  local found = running()
  return found and may_run() and found or nil
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
  if ready() then
    execute(command, vim.uri_from_bufnr(0), on_result)
  end
end

function M.trust()
  local root = project.root(0)
  if not project.is_trusted(root) then
    project.allow(root)
    client.restart()
  end
  client.say(project.short(root) .. " is trusted: looking for breaks")
end

function M.distrust()
  local root = project.root(0)
  project.forbid(root)
  client.restart()
  if project.is_trusted(root) then
    client.say("still trusted, by setup() or a folder above it", WARN)
  else
    client.say(project.short(root) .. " is not run any more")
  end
end

function M.restart()
  client.restart()
  client.say("the server is started anew")
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
      client.say(name .. " was not run; try :GraphglueWriteInputs", WARN)
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

--- Where each lies is said, too: no program may be there that shows it.
---@param entries table[]
function M.show_pictures(entries)
  local said = {}
  for _, entry in ipairs(entries) do
    local path = vim.fn.tempname() .. ".svg"
    vim.fn.writefile(vim.split(entry.svg, "\n"), path)
    if vim.ui.open then
      vim.ui.open(path)
    elseif vim.fn.executable("xdg-open") == 1 then
      vim.fn.jobstart({ "xdg-open", path })
    end
    said[#said + 1] = entry.title .. ": " .. path
  end
  client.say(table.concat(said, "\n"))
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

---@param found table a client
---@param finding table
---@return table
local function position_of(found, finding)
  return {
    line = finding.lnum,
    character = vim.lsp.util.character_offset(0, finding.lnum, finding.col, found.offset_encoding or "utf-16"),
  }
end

-- Has the server prove the edit of a code action; one that is refused it tells itself.
---@param found table a client
---@param action table
---@param buffer integer
local function apply(found, action, buffer)
  if action.command then -- a model's: the server sends its edit
    client.request(found, "workspace/executeCommand", action.command, function() end, buffer)
    return
  end
  client.request(found, "codeAction/resolve", action, function(_, resolved)
    if resolved and resolved.edit then
      vim.lsp.util.apply_workspace_edit(resolved.edit, found.offset_encoding or "utf-16")
    end
  end, buffer)
end

--- Mends that break; of several edits that are offered, one is chosen.
function M.glue()
  local found = ready()
  local finding = found and finding_at_cursor()
  if not finding then
    return
  end
  local buffer, at = vim.api.nvim_get_current_buf(), position_of(found, finding)
  local params = {
    textDocument = vim.lsp.util.make_text_document_params(),
    range = { start = at, ["end"] = at },
    context = { diagnostics = {}, only = { "quickfix" } },
  }
  client.request(found, "textDocument/codeAction", params, function(err, actions)
    local edits = vim.tbl_filter(function(action) -- and none that ignores it
      return vim.startswith(action.title, "Glue this graph")
    end, actions or {})
    if err then
      client.say(err.message, WARN)
    elseif #edits == 0 then
      client.say("no rule mends this; :GraphglueExplain says what helps")
    elseif #edits == 1 then
      apply(found, edits[1], buffer)
    else
      local function title_of(action)
        return (action.title:gsub("^Glue this graph: ", ""))
      end
      vim.ui.select(edits, { prompt = "Glue this graph:", format_item = title_of }, function(action)
        if action then
          apply(found, action, buffer)
        end
      end)
    end
  end, buffer)
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
  local params = {
    textDocument = vim.lsp.util.make_text_document_params(),
    position = position_of(found, finding),
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

--- Which Python, torch and CUDA are used.
function M.doctor()
  local python = options.python()
  in_terminal(vim.list_extend({ "doctor" }, python and { "--python", python } or {}))
end

--- Runs this buffer's file, or the given program, and keeps what its modules are called with.
---@param given string[]
function M.record(given)
  local buffer = vim.api.nvim_get_current_buf()
  local function record(program)
    in_terminal(vim.list_extend({ "record", "--" }, program), function(code)
      if code == 0 and vim.api.nvim_buf_is_loaded(buffer) then
        vim.api.nvim_buf_call(buffer, M.analyze)
      end
    end)
  end
  if #given > 0 then
    record(given)
  elseif ready() then -- with the Python that the server found, as captures are
    local path = vim.api.nvim_buf_get_name(buffer)
    execute("graphglue.status", nil, function(answer)
      local worker = answer and answer.workers and answer.workers[1] or {}
      record({ type(worker.python) == "string" and worker.python or options.python() or "python3", path })
    end)
  end
end

return M
