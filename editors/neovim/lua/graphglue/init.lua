-- Starts graphglue-lsp for Python buffers, and keeps the list of projects whose code it may run.  Everything else is Neovim's own
-- LSP client.  Works from 0.7.2 (vim.lsp.start_client) to 0.11 and later (vim.lsp.config, vim.lsp.enable).
local M = {}

local options = {
  cmd = { "graphglue-lsp", "--stdio" },
  filetypes = { "python" },
  root_markers = { "pyproject.toml", "setup.py", "setup.cfg", "requirements.txt", ".git" },
  trusted = {}, -- true: every project; or a list of folders, besides those allowed by :GraphglueTrust
  settings = {}, -- see :help graphglue-settings
}

local has_enable = vim.lsp.config ~= nil and vim.lsp.enable ~= nil

local function get_clients()
  local all = (vim.lsp.get_clients or vim.lsp.get_active_clients)()
  return vim.tbl_filter(function(client)
    return client.name == "graphglue"
  end, all)
end

local function normalize(path)
  return (vim.fn.fnamemodify(vim.fn.resolve(vim.fn.expand(path)), ":p"):gsub("(.)/+$", "%1"))
end

-- The folder that holds a marker, the nearest one; else the file's own.
local function find_root(buffer)
  local name = vim.api.nvim_buf_get_name(buffer)
  local folder = name ~= "" and vim.fn.fnamemodify(name, ":p:h") or vim.fn.getcwd()
  local at = folder
  while true do
    for _, marker in ipairs(options.root_markers) do
      if vim.fn.empty(vim.fn.glob(at .. "/" .. marker)) == 0 then
        return normalize(at)
      end
    end
    local parent = vim.fn.fnamemodify(at, ":h")
    if parent == at then
      return normalize(folder)
    end
    at = parent
  end
end

-- ---- trust -----------------------------------------------------------------------------------------------------------

local function list_path()
  local ok, state = pcall(vim.fn.stdpath, "state") -- 0.8 and later
  return (ok and state or vim.fn.stdpath("data")) .. "/graphglue-trusted"
end

local function read_list()
  return vim.fn.filereadable(list_path()) == 1 and vim.fn.readfile(list_path()) or {}
end

local function write_list(folders)
  vim.fn.mkdir(vim.fn.fnamemodify(list_path(), ":h"), "p")
  vim.fn.writefile(folders, list_path())
end

--- May the code of this folder be run?
function M.is_trusted(root)
  if options.trusted == true then
    return true
  end
  local folders = read_list()
  for _, folder in ipairs(options.trusted or {}) do
    folders[#folders + 1] = normalize(folder)
  end
  return vim.tbl_contains(folders, normalize(root))
end

-- ---- the client ------------------------------------------------------------------------------------------------------

-- Neovim shows the links of diagnostics, but says so to no server before 0.11.
local function capabilities()
  local all = vim.lsp.protocol.make_client_capabilities()
  local publish = all.textDocument.publishDiagnostics or {}
  publish.codeDescriptionSupport = true
  all.textDocument.publishDiagnostics = publish
  return all
end

--- The client's configuration, as vim.lsp.config and vim.lsp.start_client take it.
function M.config()
  return {
    name = "graphglue",
    cmd = options.cmd,
    filetypes = options.filetypes,
    capabilities = capabilities(),
    root_dir = has_enable and function(buffer, done)
      done(find_root(buffer))
    end or nil,
    settings = { graphglue = next(options.settings) and options.settings or vim.empty_dict() },
    before_init = function(params, config)
      -- The settings too: before 0.8, Neovim does not tell servers that they may ask for them.
      params.initializationOptions = vim.tbl_extend("force", options.settings, { trusted = M.is_trusted(config.root_dir) })
    end,
    on_attach = function(client)
      if not M.is_trusted(client.config.root_dir) then
        vim.notify_once("graphglue: nothing is run until you say :GraphglueTrust")
      end
    end,
  }
end

local function attach(buffer)
  local root = find_root(buffer)
  for _, client in ipairs(get_clients()) do
    if client.config.root_dir == root then
      return vim.lsp.buf_attach_client(buffer, client.id)
    end
  end
  local config = vim.tbl_extend("force", M.config(), { root_dir = root })
  local id = vim.lsp.start_client(config)
  return id and vim.lsp.buf_attach_client(buffer, id)
end

local function start()
  if has_enable then
    vim.lsp.enable("graphglue")
    return
  end
  local group = vim.api.nvim_create_augroup("graphglue", {})
  vim.api.nvim_create_autocmd("FileType", {
    group = group,
    pattern = options.filetypes,
    callback = function(event)
      attach(event.buf)
    end,
  })
  for _, buffer in ipairs(vim.api.nvim_list_bufs()) do
    if vim.api.nvim_buf_is_loaded(buffer) and vim.tbl_contains(options.filetypes, vim.bo[buffer].filetype) then
      attach(buffer)
    end
  end
end

-- Trust is told once, when a server starts.
local function restart()
  if has_enable then
    vim.lsp.enable("graphglue", false)
  end
  for _, client in ipairs(get_clients()) do
    vim.lsp.stop_client(client.id)
  end
  vim.wait(5000, function()
    return #get_clients() == 0
  end, 20)
  start()
end

--- Sets options and starts the server for Python buffers.
function M.setup(given)
  options = vim.tbl_deep_extend("force", options, given or {})
  if has_enable then
    vim.lsp.config("graphglue", M.config())
  end
  start()
end

--- Allows the code of the current buffer's project to be run, now and in later sessions.
function M.trust()
  local root = find_root(0)
  if not M.is_trusted(root) then
    local folders = read_list()
    folders[#folders + 1] = root
    write_list(folders)
    restart()
  end
  vim.notify("graphglue: the code of " .. root .. " may be run: save to see graph breaks")
end

--- Takes that back.
function M.distrust()
  local root = find_root(0)
  write_list(vim.tbl_filter(function(folder)
    return folder ~= root
  end, read_list()))
  restart()
  vim.notify("graphglue: the code of " .. root .. " is not run any more")
end

--- Looks for graph breaks in the current buffer now, whatever `capture.run` says.
function M.capture()
  local command = { command = "graphglue.capture", arguments = { vim.uri_from_bufnr(0) } }
  for _, client in ipairs(get_clients()) do
    if vim.lsp.buf_is_attached(0, client.id) then
      local function answered(err)
        if err then
          vim.notify("graphglue: " .. err.message, vim.log.levels.WARN)
        end
      end
      if has_enable then
        client:request("workspace/executeCommand", command, answered, 0)
      else
        client.request("workspace/executeCommand", command, answered, 0)
      end
      return
    end
  end
  vim.notify("graphglue: not running in this buffer", vim.log.levels.WARN)
end

return M
