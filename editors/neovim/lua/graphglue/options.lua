-- What the user said in setup().

---@class graphglue.Options
---@field cmd string[]|nil the server with its arguments; nil: it is looked for (server.lua)
---@field filetypes string[]
---@field root_markers string[] files that mark a project's folder
---@field trusted boolean|string[] true: every project; or folders, besides those allowed by :GraphglueTrust
---@field summary "above"|"eol"|false where "3 graphs · 2 breaks" is shown
---@field settings table the server's, see :help graphglue-settings
local options = {
  cmd = nil,
  filetypes = { "python" },
  root_markers = { "pyproject.toml", "setup.py", "setup.cfg", "requirements.txt", ".git" },
  trusted = {},
  summary = "above",
  settings = {},
}

local M = {}

---@return graphglue.Options
function M.get()
  return options
end

--- The interpreter that was named, in setup() or with vim.lsp.config (Neovim 0.11).
---@return string|nil
function M.python()
  local set = options.settings.python
  if not set and vim.lsp.config then
    set = vim.tbl_get(vim.lsp.config.graphglue or {}, "settings", "graphglue", "python")
  end
  return set and vim.fn.expand(set)
end

---@param given table|nil
function M.set(given)
  options = vim.tbl_deep_extend("force", options, given or {})
end

return M
