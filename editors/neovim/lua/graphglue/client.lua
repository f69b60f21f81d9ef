-- Starts the server for Python buffers, and again when it ended by itself.  Everything else is Neovim's own LSP client: from 0.7.2
-- (vim.lsp.start_client) to 0.11 and later (vim.lsp.config, vim.lsp.enable).
local options = require("graphglue.options")
local progress = require("graphglue.progress")
local project = require("graphglue.project")
local server = require("graphglue.server")

local M = {}

local has_enable = vim.lsp.config ~= nil and vim.lsp.enable ~= nil

local SIGTERM = 15
local MAX_ENDS, ENDS_SECONDS = 3, 180 -- started again by itself no more often than this, of each project

---@type table<integer, {root: string, buffers: table<integer, true>}> by client
local attached = {}
---@type table<string, integer[]> when the servers of a project ended by themselves
local ends = {}
---@type table<string, integer> the client of a project; before 0.8 Neovim lists none that still begins
local begun = {}

M.say = progress.say

---@return table[] clients that run
function M.all()
  return vim.tbl_filter(function(client)
    return client.name == "graphglue"
  end, (vim.lsp.get_clients or vim.lsp.get_active_clients)())
end

---@param buffer integer
---@return table|nil
function M.of(buffer)
  for _, client in ipairs(M.all()) do
    if vim.lsp.buf_is_attached(buffer, client.id) and not client.is_stopped(client) then
      return client
    end
  end
end

---@param client table
---@return string
function M.root_of(client)
  return client.config.root_dir
end

---@param client table
---@param method string
---@param params table
---@param handler fun(err: table|nil, result: any)
---@param buffer integer|nil
function M.request(client, method, params, handler, buffer)
  if vim.fn.has("nvim-0.11") == 1 then
    return client:request(method, params, handler, buffer)
  end
  return client.request(method, params, handler, buffer)
end

-- ---- configuration ---------------------------------------------------------------------------------------------------

-- What Neovim does but says to no server: it shows the links of diagnostics (said from 0.11 on), and the summary asks for lenses again.
local function capabilities()
  local all = vim.lsp.protocol.make_client_capabilities()
  all.textDocument.publishDiagnostics = all.textDocument.publishDiagnostics or {}
  all.textDocument.publishDiagnostics.codeDescriptionSupport = true
  if options.get().summary then
    all.textDocument.codeLens = all.textDocument.codeLens or { dynamicRegistration = false }
    all.workspace.codeLens = { refreshSupport = true }
  end
  return all
end

local function on_attach(client, buffer)
  local root = M.root_of(client)
  attached[client.id] = attached[client.id] or { root = root, buffers = {} }
  attached[client.id].buffers[buffer] = true
  if not project.is_trusted(root) then
    vim.notify_once("graphglue: nothing is run until you say :GraphglueTrust")
  end
  require("graphglue.summary").attach(client, buffer)
  require("graphglue.status").attach(client, buffer)
end

---@param code integer
---@param signal integer
---@param id integer
local function on_exit(code, signal, id)
  local left = attached[id]
  attached[id] = nil
  vim.schedule(function()
    require("graphglue.summary").forget(id)
    require("graphglue.status").forget(id)
    local was_asked = (code == 0 and signal == 0) or signal == SIGTERM
    if left and not was_asked and vim.v.exiting == vim.NIL then
      M.ended(id, left.root, vim.tbl_keys(left.buffers))
    end
  end)
end

-- Looked for when it is started, so that one that comes later is found.
local function spawn(dispatchers)
  return vim.lsp.rpc.start(server.find().cmd or { "graphglue-lsp", "--stdio" }, dispatchers)
end

--- The client's configuration, as vim.lsp.config and vim.lsp.start_client take it.
---@return table
function M.config()
  return {
    name = "graphglue",
    cmd = has_enable and spawn or server.find().cmd,
    filetypes = options.get().filetypes,
    capabilities = capabilities(),
    root_dir = has_enable and function(buffer, done)
      if M.is_there() then
        done(project.root(buffer))
      end
    end or nil,
    settings = { graphglue = next(options.get().settings) and options.get().settings or vim.empty_dict() },
    handlers = {
      ["workspace/codeLens/refresh"] = function(_, _, context)
        require("graphglue.summary").refresh(context.client_id)
        return vim.NIL
      end,
      ["window/showMessage"] = progress.on_message,
      ["workspace/applyEdit"] = progress.on_edit,
      ["$/progress"] = progress.on_progress,
    },
    before_init = function(params, config)
      -- The settings too: before 0.8, Neovim does not tell servers that they may ask for them.
      local settings = (config.settings or {}).graphglue or {}
      local trust = { trusted = project.is_trusted(config.root_dir), trustHelp = "say :GraphglueTrust" }
      params.initializationOptions = vim.tbl_extend("force", settings, trust)
    end,
    on_attach = on_attach,
    on_exit = on_exit,
  }
end

--- What vim.lsp.config says instead of setup(), if anything.
---@return string[]|nil
function M.cmd()
  local cmd = has_enable and (vim.lsp.config.graphglue or {}).cmd
  return type(cmd) == "table" and cmd or nil
end

--- Is there a server to start?  If not, its user is told, once.
---@return boolean
function M.is_there()
  if server.find(M.cmd()).cmd then
    return true
  end
  vim.notify_once("graphglue: no graphglue-lsp was found; see :checkhealth graphglue", vim.log.levels.WARN)
  return false
end

-- ---- starting --------------------------------------------------------------------------------------------------------

---@param buffer integer
local function attach(buffer)
  local root = project.root(buffer)
  if has_enable then
    local config = vim.tbl_extend("force", vim.deepcopy(vim.lsp.config.graphglue), { root_dir = root })
    vim.lsp.start(config, { bufnr = buffer })
    return
  end
  local client = begun[root] and vim.lsp.get_client_by_id(begun[root])
  if not client or client.is_stopped() then
    begun[root] = M.is_there() and vim.lsp.start_client(vim.tbl_extend("force", M.config(), { root_dir = root })) or nil
  end
  if begun[root] then
    vim.lsp.buf_attach_client(buffer, begun[root])
  end
end

---@param buffer integer
---@return boolean
function M.is_ours(buffer)
  return vim.api.nvim_buf_is_loaded(buffer)
    and vim.bo[buffer].buftype == ""
    and vim.tbl_contains(options.get().filetypes, vim.bo[buffer].filetype)
end

function M.start()
  if has_enable then
    vim.lsp.enable("graphglue")
    return
  end
  vim.api.nvim_create_autocmd("FileType", {
    group = vim.api.nvim_create_augroup("graphglue", {}),
    pattern = options.get().filetypes,
    callback = function(event)
      if M.is_ours(event.buf) then
        attach(event.buf)
      end
    end,
  })
  for _, buffer in ipairs(vim.api.nvim_list_bufs()) do
    if M.is_ours(buffer) then
      attach(buffer)
    end
  end
end

--- Ends the servers and starts them anew, also those that were given up.  Trust is told once, when a server starts.
function M.restart()
  ends = {}
  if has_enable then
    vim.lsp.enable("graphglue", false)
  end
  for _, client in ipairs(M.all()) do
    if not client.is_stopped(client) then
      vim.lsp.stop_client(client.id)
    end
  end
  local function is_quiet()
    return #M.all() == 0
  end
  if not vim.wait(5000, is_quiet, 20) then
    for _, client in ipairs(M.all()) do
      vim.lsp.stop_client(client.id, true)
    end
    vim.wait(1000, is_quiet, 20)
  end
  M.start()
end

--- A server ended by itself: it is started again, for the buffers that it had, unless it does so again and again.
---@param id integer
---@param root string
---@param buffers integer[]
function M.ended(id, root, buffers)
  local now = os.time()
  ends[root] = vim.tbl_filter(function(at)
    return now - at < ENDS_SECONDS
  end, ends[root] or {})
  table.insert(ends[root], now)
  if #ends[root] > MAX_ENDS then
    M.say(
      ("the server ended %d times; :GraphglueRestart starts it, its log is %s"):format(#ends[root], M.log_path()),
      vim.log.levels.ERROR
    )
    return
  end
  vim.wait(1000, function() -- Neovim lets go of the client after it told us
    return vim.lsp.get_client_by_id(id) == nil
  end, 10)
  M.say("the server ended by itself and is started again", vim.log.levels.WARN)
  for _, buffer in ipairs(buffers) do
    if M.is_ours(buffer) then
      attach(buffer)
    end
  end
end

---@return string
function M.log_path()
  return vim.lsp.get_log_path()
end

return M
