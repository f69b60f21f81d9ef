-- Projects: which folder a buffer belongs to, and whether its code may be run.
local options = require("graphglue.options")

local M = {}

---@param path string
---@return string without links, and without a slash at its end
local function normalize(path)
  return (vim.fn.fnamemodify(vim.fn.resolve(vim.fn.expand(path)), ":p"):gsub("(.)/+$", "%1"))
end

--- The nearest folder that holds a marker; else the file's own.
---@param buffer integer
---@return string
function M.root(buffer)
  local name = vim.api.nvim_buf_get_name(buffer)
  local is_file = name ~= "" and not name:find("^%a[%w+.-]+://") and vim.bo[buffer].buftype == ""
  local folder = is_file and vim.fn.fnamemodify(name, ":p:h") or vim.fn.getcwd()
  local at = folder
  while true do
    for _, marker in ipairs(options.get().root_markers) do
      local path = at .. "/" .. marker
      if vim.fn.filereadable(path) == 1 or vim.fn.isdirectory(path) == 1 then
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

local SHORT = 25

--- For a message, which has one line: of a long one, the folders above it by a letter each.
---@param root string
---@return string
function M.short(root)
  local words = vim.fn.fnamemodify(root, ":~")
  return #words <= SHORT and words or vim.fn.pathshorten(words)
end

--- The file that lists the folders allowed by :GraphglueTrust.
---@return string
function M.list_path()
  local ok, state = pcall(vim.fn.stdpath, "state") -- 0.8 and later
  return (ok and state or vim.fn.stdpath("data")) .. "/graphglue-trusted"
end

---@return string[]
local function read_list()
  return vim.fn.filereadable(M.list_path()) == 1 and vim.fn.readfile(M.list_path()) or {}
end

---@param folders string[]
local function write_list(folders)
  vim.fn.mkdir(vim.fn.fnamemodify(M.list_path(), ":h"), "p")
  vim.fn.writefile(folders, M.list_path())
end

--- May the code of this folder be run?  It may where a folder above it was allowed, too.
---@param root string
---@return boolean
function M.is_trusted(root)
  local trusted = options.get().trusted
  if trusted == true then
    return true
  end
  local folders = vim.list_extend(read_list(), vim.tbl_map(normalize, trusted or {}))
  local below = normalize(root) .. "/"
  for _, folder in ipairs(folders) do
    if vim.startswith(below, folder .. "/") then
      return true
    end
  end
  return false
end

--- Allows it, now and in later sessions.
---@param root string
function M.allow(root)
  local folders = read_list()
  folders[#folders + 1] = root
  write_list(folders)
end

--- Takes that back.
---@param root string
function M.forbid(root)
  write_list(vim.tbl_filter(function(folder)
    return folder ~= root
  end, read_list()))
end

return M
