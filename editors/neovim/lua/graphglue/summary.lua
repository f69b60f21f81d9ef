-- "3 graphs · 2 breaks" above each class and function that was captured: the server's code lenses, as virtual lines.
local client = require("graphglue.client")
local options = require("graphglue.options")

local M = {}

local namespace = vim.api.nvim_create_namespace("graphglue.summary")
local SETTLE_MS = 200

---@type table<integer, table<integer, boolean>> buffers by client; true: will be asked about
local waiting = {}

-- A line above the first one is not shown by Neovim, and one at the end of a line moves nothing.
---@param buffer integer
---@param row integer
---@param words string
local function show(buffer, row, words)
  local place = options.get().summary
  if place == "above" and row > 0 then
    local indent = vim.api.nvim_buf_call(buffer, function()
      return vim.fn.indent(row + 1)
    end)
    vim.api.nvim_buf_set_extmark(buffer, namespace, row, 0, {
      virt_lines = { { { (" "):rep(indent), "Normal" }, { words, "GraphglueSummary" } } },
      virt_lines_above = true,
    })
  else
    vim.api.nvim_buf_set_extmark(buffer, namespace, row, 0, { virt_text = { { words, "GraphglueSummary" } } })
  end
end

-- What a click would do in other editors is said by the commands here.
---@param lens table
---@return string|nil
local function words_of(lens)
  local title = lens.command and lens.command.title
  if title == nil or lens.command.command == "graphglue.writeInputs" then
    return nil
  end
  return (title:gsub(" · Glue all$", ""))
end

---@param buffer integer
---@param lenses table[]
local function draw(buffer, lenses)
  vim.api.nvim_buf_clear_namespace(buffer, namespace, 0, -1)
  local rows, words = {}, {}
  for _, lens in ipairs(lenses) do
    local row, said = lens.range.start.line, words_of(lens)
    if said and row < vim.api.nvim_buf_line_count(buffer) then
      if words[row] == nil then
        rows[#rows + 1] = row
      end
      words[row] = words[row] and words[row] .. " · " .. said or said
    end
  end
  for _, row in ipairs(rows) do
    show(buffer, row, words[row])
  end
end

---@param id integer
---@param buffer integer
local function ask(id, buffer)
  local found = vim.lsp.get_client_by_id(id)
  if not found or found.is_stopped(found) or not vim.api.nvim_buf_is_loaded(buffer) then
    return
  end
  local params = { textDocument = { uri = vim.uri_from_bufnr(buffer) } }
  client.request(found, "textDocument/codeLens", params, function(err, lenses)
    if not err and vim.api.nvim_buf_is_loaded(buffer) then
      draw(buffer, lenses or {})
    end
  end, buffer)
end

-- Asks when it has been quiet for a moment.
---@param id integer
---@param buffer integer
local function ask_soon(id, buffer)
  local buffers = waiting[id]
  if not buffers or buffers[buffer] == nil or buffers[buffer] then
    return
  end
  buffers[buffer] = true
  vim.defer_fn(function()
    if waiting[id] then
      waiting[id][buffer] = false
      ask(id, buffer)
    end
  end, SETTLE_MS)
end

--- Asks anew about every buffer of a client.
---@param id integer
function M.refresh(id)
  for buffer in pairs(waiting[id] or {}) do
    ask_soon(id, buffer)
  end
end

---@param attached table a client
---@param buffer integer
function M.attach(attached, buffer)
  if not options.get().summary then
    return
  end
  vim.cmd("highlight default link GraphglueSummary Comment")
  waiting[attached.id] = waiting[attached.id] or {}
  waiting[attached.id][buffer] = false
  ask_soon(attached.id, buffer)
  vim.api.nvim_buf_attach(buffer, false, {
    on_lines = function() -- what was found may be of another text now
      if not waiting[attached.id] then
        return true
      end
      vim.schedule(function()
        ask_soon(attached.id, buffer)
      end)
    end,
  })
end

--- The client ended: what it said is taken away.
---@param id integer
function M.forget(id)
  for buffer in pairs(waiting[id] or {}) do
    if vim.api.nvim_buf_is_loaded(buffer) then
      vim.api.nvim_buf_clear_namespace(buffer, namespace, 0, -1)
    end
  end
  waiting[id] = nil
end

return M
